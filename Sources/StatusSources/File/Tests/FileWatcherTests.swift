// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import SourceKinds
import StatusModel
import StatusMonitor
import Systemd
import Testing

@testable import StatusSources

@Suite("Files and their changes", .timeLimit(.minutes(1)))
@EventLoop final class FileWatcherTests {
    private let folder = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
    private let watcher: FileWatcher

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let environment = SourceEnvironment(
            monitor: StatusMonitor(), budget: CheckBudget(CheckLimits()),
            paths: SourceEnvironment.Paths(notify: folder, executor: nil), userAgent: "",
            logger: Logger(label: "test")
        ) { _ in }
        watcher = FileWatcher(in: environment)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(to name: String) throws {
        try "".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }

    private func look(at name: String) throws -> CheckResult { try FileSettings(path: "\(folder)/\(name)").look() }

    @Test("a file is found, or is missing")
    func finds() throws {
        #expect(try look(at: "a").text == "no such file: \(folder)/a")
        try write(to: "a")
        #expect(try look(at: "a") == CheckResult(.ok, "a: exists"))
        #expect(try look(at: "a/b").text == "no such file: \(folder)/a/b")
        #expect(throws: CheckFailure.self) { try look(at: String(repeating: "x", count: 300)) }
    }

    @Test("of those that match a pattern, the newest one counts; a hidden one does not match")
    func newest() throws {
        for (name, age) in [("db-1", 300.0), ("db-2", 100), ("db-3", 200), ("other", 0), (".db-4", 0)] {
            try write(to: name)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: "\(folder)/\(name)")
        }
        #expect(try look(at: "*db-*") == CheckResult(.ok, "db-2: exists"))
        #expect(try look(at: "none-*").text == "no file matches \(folder)/none-*")
        #expect(try look(at: "none/*").text == "no file matches \(folder)/none/*")
    }

    @Test("names concern those who wait for them, and hidden ones no pattern that begins otherwise")
    func names() {
        let (plain, pattern) = (FileWatch(path: "/a/b*", isPattern: false), FileWatch(path: "/a/*b*", isPattern: true))
        for (name, isPlain, isPattern) in [
            ("b*", true, true), ("b", false, true), ("c", false, false), (".b", false, false),
        ] {
            #expect(plain.concerns(name) == isPlain, "\(name)")
            #expect(pattern.concerns(name) == isPattern, "\(name)")
        }
    }

    @Test(
        "it is told that a file may have changed, and not that another has", arguments: ["backup", "back*"],
        [["write backup"], ["write other", "move other backup"], ["write other", "write backup", "remove backup"]])
    func changes(_ name: String, _ steps: [String]) async throws {
        let watch = FileWatch(path: "\(folder)/\(name)", isPattern: name.contains("*"))
        var changes = watch.changes.makeAsyncIterator()
        await watcher.begin(watch)
        // The file may have changed before.
        await changes.next()
        for step in steps {
            let words = step.split(separator: " ").map(String.init)
            switch words[0] {
            case "write": try write(to: words[1])
            case "move":
                try FileManager.default.moveItem(atPath: "\(folder)/\(words[1])", toPath: "\(folder)/\(words[2])")
            default: try FileManager.default.removeItem(atPath: "\(folder)/\(words[1])")
            }
            if !step.hasPrefix("write other") { await changes.next() }
        }
        #expect(watcher.watchCount == 1)
    }

    @Test("it is told that a directory is gone, and of changes in the one in its place; nobody listens at the end")
    func directory() async throws {
        let path = "\(folder)/sub"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let watch = FileWatch(path: "\(path)/a", isPattern: false)
        let reader = Task {
            var changes = watch.changes.makeAsyncIterator()
            await watcher.begin(watch)
            await changes.next()
            try FileManager.default.removeItem(atPath: path)
            while watch.number != nil { await changes.next() }
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            await watcher.begin(watch)
            await changes.next()
            try write(to: "sub/a")
            await changes.next()
        }
        try await reader.value
        #expect(watcher.watchCount == 1)
        await Task { for await _ in watch.changes where Task.isCancelled {} }.cancelAndWait()
        while watcher.watchCount > 0 { await Task.yield() }
    }
}

extension Task where Success == Void, Failure == Never {
    fileprivate func cancelAndWait() async {
        cancel()
        await value
    }
}
