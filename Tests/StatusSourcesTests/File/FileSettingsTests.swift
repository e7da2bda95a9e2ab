// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusWorkers
import Testing
import Varlink

@testable import StatusSources

@Suite("Settings of files") struct FileSettingsTests {
    @Test("a path and the conditions for its file are read")
    func reads() throws {
        #expect(
            try FileSettings.read("file: /var/backups/db.dump").settings == FileSettings(path: "/var/backups/db.dump"))
        var backup = FileSettings(path: "/var/backups/db-*.dump")
        backup.age = .seconds(26 * 3600)
        backup.size = 1 << 20
        let entry = "file: { path: /var/backups/db-*.dump, age: 26h, size: 1M }"
        #expect(try FileSettings.read(entry).settings == backup)
        var lock = FileSettings(path: "/run/lock")
        lock.exists = false
        #expect(try FileSettings.read("file: { path: /run/lock, exists: false }").settings == lock)
    }

    @Test("the path must be visible to the daemon, up to the first pattern")
    func requirements() {
        #expect(FileSettings(path: "/home/a/b").requirements == [.visiblePath("/home/a/b")])
        #expect(FileSettings(path: "/home/a/*").requirements == [.visiblePath("/home/a/*")])
        #expect(FileSettings(path: "/home/*/b").requirements == [.visiblePath("/home/*")])
        #expect(FileSettings(path: "/*/b").requirements == [.visiblePath("/*")])
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "backup.dump", "/var/backups/", "[/a]", "", "{ age: 1h }", "{ path: a }", "{ path: /a, age: never }",
            "{ path: /a, age: 10ms }", "{ path: /a, size: 0 }", "{ path: /a, size: large }",
            "{ path: /a, exists: no way }",
            "{ path: /a, exists: false, age: 1h }", "/\(String(repeating: "x", count: 4096))",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try FileSettings.read("file: \(value)") }
    }

    @Test("an unknown key is an error")
    func unknown() throws {
        let problem = try #require(throws: Problem.self) { try FileSettings.read("file: { path: /a, ages: 1h }") }
        #expect(problem.reason == "unknown key “ages” in “file”; did you mean “age”?")
    }
}

@Suite("Messages between the daemon and the worker that checks files") struct FileMessagesTests {
    private func received<Value: JSONReadable & JSONWritable>(_ value: Value) throws -> Value {
        try WorkerMessage.encode(value).dropLast().withUnsafeBytes { try WorkerMessage.decode(from: $0) }
    }

    @Test("a call arrives unchanged")
    func call() throws {
        var settings = FileSettings(path: "/a/ü")
        #expect(try received(settings) == settings)
        (settings.age, settings.size) = (.milliseconds(1500), 17)
        #expect(try received(settings) == settings)
        settings = FileSettings(path: "/a")
        settings.exists = false
        #expect(try received(settings) == settings)
    }

    @Test("an answer arrives unchanged")
    func answer() throws {
        for result: Result<CheckResult, CheckFailure> in [
            .success(CheckResult(.ok, "exists")), .failure(CheckFailure("Permission denied")),
        ] {
            #expect(try received(HostAnswer(result)) == HostAnswer(result))
        }
    }
}
