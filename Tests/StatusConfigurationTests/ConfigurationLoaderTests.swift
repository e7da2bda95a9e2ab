// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusConfiguration
import StatusModel
import Testing

@Suite("Configuration") struct ConfigurationLoaderTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func name(_ text: String) throws -> ServerName { try #require(ServerName(text)) }

    @Test("without settings, all posts are accepted; with settings, only posts to configured servers")
    func embedded() throws {
        #expect(try folder.load().configuration.acceptsAny)
        try folder.write("# accept: configured\n\n# servers: {}\n")
        #expect(try folder.load().configuration.acceptsAny)
        try folder.write("servers: {}")
        #expect(try !folder.load().configuration.acceptsAny)
        try folder.write("limits: { message: 128K }")
        #expect(try !folder.load().configuration.acceptsAny)
    }

    @Test("every key is read")
    func reads() throws {
        try folder.write(
            """
            select: db
            accept: any
            defaults: { placeholder: nothing yet }
            limits: { message: 128K, connections: 7 }
            servers:
              db: { description: Primary, push: true }
              web: { notify: { users: [www-data, 33] }, placeholder: Starting }
            """)
        let loaded = try folder.load()
        #expect(loaded.problems == [])
        let configuration = loaded.configuration
        #expect(configuration.select == (try name("db")))
        #expect(configuration.acceptsAny)
        #expect(configuration.limits.message == 131_072)
        #expect(configuration.limits.connections == 7)
        let db = try #require(configuration.servers[try name("db")])
        #expect(db.description == "Primary")
        #expect(db.placeholder == "nothing yet")
        #expect(db.source == AnySourceSettings(PushSettings()))
        let web = try #require(configuration.servers[try name("web")])
        #expect(web.source == AnySourceSettings(NotifySettings(users: ["www-data", "33"])))
        #expect(web.placeholder == "Starting")
    }

    @Test("pieces below a key with x- are shared by servers, and are no settings")
    func sharedPieces() throws {
        try folder.write(
            "x-web: &web { http: http://a/, interval: 10s }\n"
                + "servers:\n  a: { <<: *web }\n  b: { <<: *web, interval: .5s }\n"
        )
        let loaded = try folder.load()
        #expect(loaded.problems == [])
        let servers = loaded.configuration.servers
        #expect(servers[try name("a")]?.schedule.interval == .seconds(10))
        #expect(servers[try name("b")]?.schedule.interval == .milliseconds(500))
        #expect(servers[try name("a")]?.source == servers[try name("b")]?.source)
        try folder.write("x-web: { http: http://a/ }\n")
        #expect(try folder.load().configuration.acceptsAny)
    }

    @Test("a byte order mark in any file is skipped, with either end of line")
    func byteOrderMark() throws {
        try folder.write("\u{FEFF}servers: { a: { push: true } }\r\n")
        try folder.write("\u{FEFF}servers:\n  b: { push: true }\n", to: "conf.d/b.yaml")
        let loaded = try folder.load()
        #expect(loaded.problems == [])
        #expect(loaded.configuration.servers.keys.map(\.rawValue).sorted() == ["a", "b"])
    }

    @Test("an entry that replaces one of another file is a warning that names both places")
    func replacedEntry() throws {
        try folder.write("servers:\n  db: { push: true }\n  web: { push: true }\n")
        try folder.write("servers: { db: { notify: true } }\n", to: "conf.d/a.yaml")
        let problems = try folder.load().problems
        #expect(problems.map(\.severity) == [.warning])
        #expect(
            problems.map(\.description) == [
                "\(folder.path)/conf.d/a.yaml:1: server db: replaces the whole entry at \(folder.path)/statusd.yaml:2; "
                    + "remove one of them"
            ])
    }

    @Test("an entry that replaces one of statusctl init is no warning; one that is replaced again is")
    func replacedInitialEntry() throws {
        try folder.write("servers: { disk-root: { push: true } }\n", to: "conf.d/00-init.yaml")
        try folder.write("servers: { disk-root: { notify: true } }\n", to: "conf.d/a.yaml")
        #expect(try folder.load().problems == [])
        try folder.write("servers: { disk-root: { push: true } }\n", to: "conf.d/b.yaml")
        #expect(try folder.load().problems.count == 1)
    }

    @Test("a file or a folder that everybody may write is a warning")
    func writable() throws {
        try folder.write("servers: { a: { push: true } }\n")
        try folder.write("servers: { b: { push: true } }\n", to: "conf.d/b.yaml")
        #expect(try folder.load().problems == [])
        for (name, mode) in [("statusd.yaml", 0o666), ("conf.d/b.yaml", 0o646), ("conf.d", 0o777), ("conf.d", 0o1777)] {
            let path = "\(folder.path)/\(name)"
            #expect(chmod(path, mode_t(mode)) == 0)
            let advice = "everybody may write it, and so run programs as plugins; run “chmod o-w \(path)”"
            #expect(try folder.load().problems.map(\.description) == ["\(path): \(advice)"])
            chmod(path, 0o755)
        }
    }

    @Test("selecting an unconfigured server is reported with its line, unless all posts are accepted")
    func selectsNobody() throws {
        try folder.write("servers: { db: { push: true } }\nselect: web")
        let problems = try folder.load().problems
        #expect(problems.map(\.severity) == [.warning])
        #expect(
            problems.first?.description.hasSuffix(
                "statusd.yaml:2: “select: web” names a server that is not configured; add it under “servers”") == true)
        try folder.write("servers: { db: { push: true } }\nselect: dbb")
        #expect(
            try folder.load().problems.map(\.reason)
                == ["“select: dbb” names a server that is not configured; did you mean “db”?"])
        try folder.write("servers: { db: { push: true } }\nselect: web\naccept: any")
        #expect(try folder.load().problems == [])
        try folder.write("accept: configured\nservers: { web: { push: true } }", to: "conf.d/web.yaml")
        #expect(try folder.load().problems == [])
    }

    @Test("an error in one server's entry disables only that server and is reported with file and line")
    func badServer() throws {
        try folder.write("servers:\n  db: { push: true }\n  web:\n    push: maybe\n  c: {}\n")
        let loaded = try folder.load()
        #expect(loaded.errors.map(\.origin.line) == [4, 5])
        #expect(loaded.errors.map(\.server?.rawValue) == ["web", "c"])
        #expect(loaded.configuration.servers[try name("db")]?.failure == nil)
        #expect(loaded.configuration.servers[try name("web")]?.failure?.contains("statusd.yaml:4: ") == true)
    }

    @Test(
        "an invalid main file is refused, with the line",
        arguments: [
            ("servers: [\n", 2), ("a\n", 1), ("accept: some\n", 1), ("\nselect: a b\n", 2),
            ("servers: {a: 1, a: 2}\n", 1),
            ("limits: { message: -1 }\n", 1), ("servers: { a/b: { push: true } }\n", 1),
        ])
    func badFile(_ text: String, _ line: Int) throws {
        try folder.write(text)
        let problem = #expect(throws: Problem.self) { try folder.load() }
        #expect(problem?.origin.line == line)
        #expect(problem?.origin.file.hasSuffix("/statusd.yaml") == true)
    }

    @Test("a file that is not UTF-8 is refused, with the first invalid line")
    func encoding() throws {
        let latin1 = Data("# ä\nservers:\n  db: { description: \"Caf".utf8) + Data([0xE9]) + Data("\" }\n".utf8)
        try latin1.write(to: URL(fileURLWithPath: folder.path + "/statusd.yaml"))
        let problem = #expect(throws: Problem.self) { try folder.load() }
        #expect(problem?.origin.line == 3)
    }

    @Test("an invalid drop-in disables only its own servers")
    func badDropIn() throws {
        try folder.write("servers: { db: { push: true } }")
        try folder.write("servers: { web: { push: true }", to: "conf.d/web.yaml")
        try folder.write("servers: { app: { push: true } }", to: "conf.d/app.yaml")
        let loaded = try folder.load()
        #expect(loaded.configuration.servers.keys.map(\.rawValue).sorted() == ["app", "db"])
        #expect(loaded.failedFiles.count == 1)
    }

    @Test(
        "checking a single drop-in reports no problems of other files, but reports that the daemon ignores it"
    )
    func dropInAlone() throws {
        try folder.write("select: db\nservers: { web: { push: true } }", to: "conf.d/web.yaml")
        try folder.write("select: db\nservers: { web: { push: true } }", to: "conf.d/web.yml")
        func reasons(_ file: String) -> [String] {
            ConfigurationLoader(location: ConfigurationLocation(path: folder.path + "/conf.d/" + file)).loadAll()
                .problems.map(\.reason)
        }
        #expect(reasons("web.yaml") == [])
        #expect(reasons("web.yml") == ["ignored because its name does not end in .yaml; rename it"])
    }

    @Test("a drop-in that becomes invalid keeps its previous contents, but its servers fail")
    func brokenDropIn() throws {
        try folder.write("servers: { db: { push: true }, web: { push: true } }")
        // Later files still override it.
        try folder.write("servers: { late: { push: true } }\nselect: late", to: "conf.d/z.yaml")
        let text =
            "accept: any\nlimits: { connections: 7 }\ndefaults: { placeholder: mine }\n"
            + "servers: { db: { notify: true }, late: { notify: true } }"
        try folder.write(text, to: "conf.d/mine.yaml")
        let first = try folder.load()
        try folder.write(text + "\nselect: a b", to: "conf.d/mine.yaml")
        let broken = try folder.load(after: first)
        // It is now invalid in another way, and its previous contents are still known.
        try folder.write("servers: [", to: "conf.d/mine.yaml")
        for loaded in [broken, try folder.load(after: broken)] {
            let configuration = loaded.configuration
            #expect(configuration.acceptsAny)
            #expect(configuration.select == (try name("late")))
            #expect(configuration.servers[try name("late")]?.failure == nil)
            #expect(configuration.limits.connections == 7)
            let db = try #require(configuration.servers[try name("db")])
            #expect(db.source == AnySourceSettings(NotifySettings(users: [])))
            #expect(db.failure == loaded.errors.first?.description)
            #expect(db.failure?.contains("/conf.d/mine.yaml:") == true)
            #expect(configuration.servers[try name("web")]?.placeholder == "mine")
            #expect(configuration.servers[try name("web")]?.failure == nil)
            #expect(loaded.errors.count == 1)
        }
        // The servers that it contains now fail too.
        try folder.write("servers: { new: { push: true }, 'a b': { push: true } }", to: "conf.d/mine.yaml")
        let named = try folder.load(after: broken)
        for server in ["new", "db"] {
            #expect(named.configuration.servers[try name(server)]?.failure == named.errors.first?.description)
        }
        try FileManager.default.removeItem(atPath: folder.path + "/conf.d/mine.yaml")
        #expect(
            try folder.load(after: broken).configuration.servers[try name("db")]?.source
                == AnySourceSettings(PushSettings()))
    }

    @Test("a drop-in that is invalid from the start disables the servers that it seems to contain")
    func brokenAtFirst() throws {
        try folder.write("servers: { db: { push: true } }")
        try folder.write(
            "accept: sometimes\nlimits: { connections: 7 }\nservers: { db: { notify: true } }", to: "conf.d/mine.yaml")
        let loaded = try folder.load()
        #expect(loaded.configuration.servers[try name("db")]?.failure == loaded.errors.first?.description)
        #expect(loaded.configuration.limits == Limits())
        // It cannot be parsed any more, but its servers are still known.
        try folder.write("servers: {", to: "conf.d/mine.yaml")
        let worse = try folder.load(after: loaded)
        #expect(worse.configuration.servers[try name("db")]?.failure == worse.errors.first?.description)
    }

    @Test("an invalid drop-in that replaces a valid one of the same name keeps its contents")
    func brokenOverride() throws {
        let vendor = try ConfigurationFolder()
        try folder.write("servers: { db: { push: true } }")
        try vendor.write("servers: { db: { notify: true } }", to: "conf.d/db.yaml")
        let loader = ConfigurationLoader(location: .directories([folder.path, vendor.path]))
        let first = try loader.load()
        #expect(first.configuration.servers[try name("db")]?.source == AnySourceSettings(NotifySettings(users: [])))
        try folder.write("servers: {", to: "conf.d/db.yaml")
        let broken = try loader.load(after: first.usable)
        #expect(broken.configuration.servers[try name("db")]?.failure?.contains(folder.path) == true)
    }

    @Test("a drop-in, or a link to /dev/null, hides one of the same name in a directory of lower precedence")
    func masks() throws {
        let vendor = try ConfigurationFolder()
        try vendor.write("servers: { one: { push: true } }", to: "conf.d/1.yaml")
        try vendor.write("servers: { two: { push: true } }", to: "conf.d/2.yaml")
        try vendor.write("servers: { three: { push: true } }", to: "conf.d/3.yaml")
        try folder.write("servers: { mine: { push: true } }", to: "conf.d/1.yaml")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/conf.d/2.yaml", withDestinationPath: "/dev/null")
        let loaded = try ConfigurationLoader(location: .directories([folder.path, vendor.path])).load()
        #expect(loaded.configuration.servers.keys.map(\.rawValue).sorted() == ["mine", "three"])
    }

    @Test("an unknown key is a warning with its line, and is ignored")
    func unknown() throws {
        try folder.write("servers:\n  db:\n    push: true\n    colour: red\n")
        let loaded = try folder.load()
        #expect(loaded.problems.map(\.severity) == [.warning])
        #expect(loaded.problems.map(\.origin.line) == [4])
        #expect(loaded.configuration.servers[try name("db")]?.failure == nil)
    }

    @Test("a server's option outside of a section is reported with the right section")
    func optionOutside() throws {
        try folder.write("interval: 5s\nservers: { db: { push: true } }\n")
        let reasons = try folder.load().problems.map(\.reason)
        #expect(reasons == ["unknown key “interval” is ignored; put it below “defaults”, or below a server"])
    }

    @Test(
        "a wrong indentation or a missing space is reported with its line",
        arguments: [
            ("servers:\nweb:\n  push: true\n", 2, "if it is a server, indent it below “servers”"),
            ("servers:\n  web:\n  push: true\n", 3, "indent this line below the name of a server"),
            ("servers:\n  web:\n    push:true\n", 3, "write a space after the colon"),
        ])
    func indentation(text: String, line: Int, advice: String) throws {
        try folder.write(text)
        let errors =
            (try? folder.load().errors) ?? [#expect(throws: Problem.self) { try folder.load() }].compactMap(\.self)
        #expect(errors.contains { $0.origin.line == line && $0.reason.hasSuffix(advice) }, "\(errors)")
    }

    @Test("sections without a value are empty")
    func emptySections() throws {
        try folder.write("accept:\ndefaults:\nlimits:\nselect:\nservers:\n")
        #expect(try folder.load().problems == [])
    }
}
