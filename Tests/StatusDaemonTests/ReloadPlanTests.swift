// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import StatusStore
import Testing

@testable import StatusConfiguration
@testable import StatusDaemon

@Suite("The plan of a reload") struct ReloadPlanTests {
    /// A configuration in which the servers have these sources: `a: push b: unit`.
    private func configuration(_ text: String, acceptsAny: Bool = true) throws -> Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = acceptsAny
        for (line, entry) in text.split(separator: " ").enumerated() {
            let parts = entry.split(separator: ":")
            let settings: (any SourceSettings)? =
                switch parts[1] {
                case "push": PushSettings()
                case "unit": UnitSettings(unit: "a.service")
                default: nil
                }
            configuration.servers[try #require(ServerName(String(parts[0])))] = ServerConfiguration(
                source: settings.map(AnySourceSettings.init), placeholder: "", failure: settings == nil ? "wrong" : nil,
                origin: Origin(file: text, line: line))
        }
        return configuration
    }

    private func plan(
        _ old: String, unconfigured: String, to new: Configuration, leftovers: FollowedServers.Leftovers? = nil,
        selected: String? = nil, failedFile: String? = nil
    ) throws -> ReloadPlan {
        var servers = FollowedServers(restored: StoreContents())
        servers.configuration = try configuration(old)
        servers.unconfigured = Set(unconfigured.split(separator: " ").compactMap { ServerName(String($0)) })
        servers.leftovers = leftovers
        let loaded = LoadedConfiguration(
            configuration: new, problems: [], failedFiles: Set(failedFile.map { [$0] } ?? []))
        return ReloadPlan(
            from: servers, selected: selected.flatMap { ServerName($0) }, to: ReadConfiguration(loaded, Accounts()))
    }

    private func text(_ plan: ReloadPlan) -> String {
        plan.inOrder.map { name, step in
            let sign =
                switch step {
                case .add: "+"
                case .adopt: "&"
                case .change: "~"
                case .keep: "="
                case .wait: "?"
                case .remove: "-"
                }
            return sign + name.rawValue
        }.joined(separator: " ")
    }

    @Test(
        "lists the added, changed and removed servers",
        arguments: [
            ("", "", "a:push", "+a"), ("a:push", "", "a:push", ""), ("a:push b:unit", "", "b:unit", "-a"),
            ("a:push", "", "a:unit", "~a"), ("a:push", "", "a:wrong", "~a"), ("a:wrong", "", "a:wrong", ""),
            ("a:push", "g", "a:push g:unit", "~g"), ("a:push", "g", "a:push", ""), ("", "g", "g:push", "~g"),
            ("c:push a:push", "", "b:push a:unit d:push", "-c ~a +b +d"),
        ])
    func table(_ old: String, _ unconfigured: String, _ new: String, _ expected: String) throws {
        #expect(text(try plan(old, unconfigured: unconfigured, to: try configuration(new))) == expected)
    }

    @Test("servers that were added by posts are removed when only configured ones may post")
    func guests() throws {
        let plan = try plan("", unconfigured: "g h", to: try configuration("g:push", acceptsAny: false))
        #expect(plan.reply.changed == ["g"])
        #expect(plan.reply.removed == ["h"])
    }

    @Test(
        "servers of an earlier run are adopted, kept or removed, or wait for a file that cannot be used",
        arguments: [
            (nil, true, "&a -b =g"), ("x.yaml", true, "&a ?b =g"), ("x.yaml", false, "&a ?b ?g"),
            (nil, false, "-b -g &a"),
        ] as [(String?, Bool, String)])
    func leftovers(_ failedFile: String?, _ acceptsAny: Bool, _ expected: String) throws {
        var leftovers = FollowedServers.Leftovers()
        for name in ["a", "b", "g"] {
            var memory = SourceMemory()
            memory.isGuest = name == "g"
            leftovers.sources[try #require(ServerName(name))] = memory
        }
        let plan = try plan(
            "", unconfigured: "", to: try configuration("a:push", acceptsAny: acceptsAny), leftovers: leftovers,
            failedFile: failedFile)
        #expect(text(plan).split(separator: " ").sorted() == expected.split(separator: " ").sorted())
        #expect((plan.servers.leftovers == nil) == (failedFile == nil))
        #expect(plan.servers.unconfigured.contains { $0.rawValue == "g" } == acceptsAny)
    }

    @Test("names the server that is selected after the steps")
    func selection() throws {
        var new = try configuration("b:push")
        #expect(try plan("a:push b:push", unconfigured: "", to: new, selected: "a").reply.deselected == "a")
        new.select = ServerName("b")
        #expect(try plan("a:push b:push", unconfigured: "", to: new, selected: "a").reply.selected == "b")
        #expect(try plan("a:push b:push", unconfigured: "", to: new, selected: "b").reply.selected == nil)
    }
}
