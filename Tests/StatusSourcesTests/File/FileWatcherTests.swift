// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Foundation
import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("Checks of files, and changes of files", .timeLimit(.minutes(5)))
@EventLoop final class FileWatcherTests {
    private let folder = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
    private let watcher: FileWatcher

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        watcher = FileWatcher(in: .test())
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(to name: String) throws {
        try "".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }

    private func check(_ name: String) throws -> CheckResult { try FileSettings(path: "\(folder)/\(name)").check() }

    @Test("a file is found, or is missing")
    func finds() throws {
        #expect(try check("a").text == "no such file: \(folder)/a")
        try write(to: "a")
        #expect(try check("a") == CheckResult(.ok, "a: exists"))
        #expect(try check("a/b").text == "no such file: \(folder)/a/b")
        #expect(throws: CheckFailure.self) { try check(String(repeating: "x", count: 300)) }
    }

    @Test("the newest file that matches a pattern counts; a hidden one does not match")
    func newest() throws {
        for (name, age) in [("db-1", 300.0), ("db-2", 100), ("db-3", 200), ("other", 0), (".db-4", 0)] {
            try write(to: name)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: "\(folder)/\(name)")
        }
        #expect(try check("*db-*") == CheckResult(.ok, "db-2: exists"))
        #expect(try check("none-*").text == "no file matches \(folder)/none-*")
        #expect(try check("none/*").text == "no file matches \(folder)/none/*")
        #expect(try check("*/*").text == "no file matches \(folder)/*/*")
    }

    @Test("a pattern matches only regular files and links to them")
    func regular() throws {
        #expect(mkdir("\(folder)/db-1", 0o700) == 0)
        #expect(mkfifo("\(folder)/db-2", 0o600) == 0)
        #expect(symlink("/dev/null", "\(folder)/db-3") == 0)
        #expect(try check("db-*").text == "no file matches \(folder)/db-*")
        #expect(try check("db-1") == CheckResult(.ok, "db-1: exists"))
        try write(to: "other")
        #expect(symlink("other", "\(folder)/db-4") == 0)
        #expect(try check("db-*") == CheckResult(.ok, "db-4: exists"))
    }

    @Test("a file's name may be invalid UTF-8, and its time may be impossible")
    func strange() throws {
        let path = folder + "/db-x"
        try write(to: "db-x")
        for seconds in [Int.max, Int.min] {
            var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
            // Not every file system accepts it.
            utimensat(AT_FDCWD, path, &times, 0)
            #expect(try check("db-x").level == .ok)
            #expect(Timestamp(times[0]).description.count == Timestamp.length)
        }
        try FileManager.default.removeItem(atPath: path)
        path.utf8CString.withUnsafeBytes { bytes in
            var name = Array(bytes)
            name[name.count - 2] = 0xFF
            name.withUnsafeBytes { bytes in
                if let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress { close(creat(start, 0o600)) }
            }
        }
        #expect(try check("db-*").level == .ok)
    }

    @Test("a change is reported to the checks with a matching entry; patterns do not match hidden names")
    func names() throws {
        var directory = WatchedDirectory()
        let (plain, pattern) = (FileWatch(path: "/a/b*", isPattern: false), FileWatch(path: "/a/*b*", isPattern: true))
        for watch in [plain, pattern] { directory.insert(watch, for: try #require(watch.entries.last)) }
        for (name, isPlain, isPattern) in [
            ("b*", true, true), ("b", false, true), ("c", false, false), (".b", false, false),
            ("\u{344}b", false, true),
        ] {
            let concerned = directory.watches(of: [Array(name.utf8)])
            #expect(concerned.contains { $0 === plain } == isPlain, "\(name)")
            #expect(concerned.contains { $0 === pattern } == isPattern, "\(name)")
        }
        #expect(directory.watches(of: Set((0..<100).map { Array("c\($0)".utf8) })).count == 1)
    }

    @Test("each directory of a path has one entry that leads to the file")
    func entries() {
        let entries = FileEntry.entries(of: "/a//b/*", isPattern: true)
        #expect(entries.map(\.directory) == ["/", "/a", "/a/b"])
        #expect(entries.map(\.name) == ["a", "b", "*"])
        #expect(entries.map(\.isPattern) == [false, false, true])
        #expect(entries.map(\.isFile) == [false, false, true])
    }

    /// The number of directories in the path of a test's file.
    private var depth: Int { FileEntry.entries(of: folder + "/a", isPattern: false).count }

    private func watch(_ name: String) -> FileWatch {
        FileWatch(path: "\(folder)/\(name)", isPattern: name.contains("*"))
    }

    @Test("a change of a file is reported", arguments: ["backup", "back*"])
    func changes(_ name: String) async throws {
        let watch = watch(name)
        var changes = watch.changes.makeAsyncIterator()
        watcher.begin(watch)
        // The first report: the file may have changed before.
        await changes.next()
        let (backup, new, files) = ("\(folder)/backup", "\(folder)/new", FileManager.default)
        try write(to: "new")
        try write(to: "backup")
        await changes.next()
        try files.removeItem(atPath: backup)
        await changes.next()
        try files.moveItem(atPath: new, toPath: backup)
        await changes.next()
        try files.moveItem(atPath: backup, toPath: new)
        await changes.next()
        try files.createSymbolicLink(atPath: backup, withDestinationPath: "nowhere")
        await changes.next()
        #expect(watcher.watchCount == depth)
    }

    @Test(
        "a replaced or new directory of the path is reported, and then watched",
        arguments: [
            ["mkdir -p p/c", "mv p q", "mkdir -p p/c"], ["mkdir -p p/c", "mv p/c q", "mkdir p/c"],
            ["mkdir -p p/c", "rm -r p", "mkdir -p p/c"], ["mkdir p", "mkdir p/c"],
            ["mkdir -p d1/c d2/c; ln -s d1 p", "ln -sfn d2 p"], ["mkdir -p d2/c", "ln -s d2 p"],
        ])
    func directory(_ steps: [String]) async throws {
        try run(steps[0])
        let watch = watch("p/c/a")
        var changes = watch.changes.makeAsyncIterator()
        watcher.begin(watch)
        await changes.next()
        for step in steps.dropFirst() {
            let former = watch.numbers
            try run(step)
            let exists = FileManager.default.fileExists(atPath: folder + "/p/c")
            repeat {
                await changes.next()
                watcher.begin(watch)
                while !watcher.isSettled { await Task.yield() }
            } while watch.numbers == former || watch.numbers.contains(nil) == exists
        }
        #expect(watcher.watchCount == depth + 2)
    }

    /// Runs a shell command in the folder of the files.
    private func run(_ command: String) throws { try #require(system("cd '\(folder)' && { \(command); }") == 0) }

    @Test("checks that share a directory do not take events from each other")
    func shared() async throws {
        try run("mkdir sub; touch a")
        let (upper, lower) = (watch("a"), watch("sub/b"))
        var changes = upper.changes.makeAsyncIterator()
        for watch in [upper, lower] {
            watcher.begin(watch)
            while watch.numbers.isEmpty { await Task.yield() }
        }
        await changes.next()
        #expect(watcher.watchCount == depth + 1)
        // This is reported only at the end of writing, which the check of the lower file does not need.
        try run("echo >>a")
        await changes.next()
        // Unstructured: the test cancels it and continues.
        let reader = Task { for await _ in lower.changes {} }
        reader.cancel()
        await reader.value
        while watcher.watchCount > depth { await Task.yield() }
        try run("echo >>a")
        await changes.next()
    }

    @Test("a full queue of events is read within half a second")
    func flood() throws {
        let queue = OwnedDescriptor(adopting: inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)))
        try #require(inotify_add_watch(queue.rawValue, folder, UInt32(IN_CREATE) | UInt32(IN_DELETE)) >= 0)
        let path = "\(folder)/\(String(repeating: "x", count: 250))"
        for _ in 0..<8192 {
            close(creat(path, 0o600))
            unlink(path)
        }
        var reads = 0
        while !FileEvents.read(from: queue).isEmpty { reads += 1 }
        #expect(reads > 1)
        #expect(FileWatcher.pause * reads < .milliseconds(500))
    }

    @Test("unneeded watches are removed, whenever a check stops")
    func end() async throws {
        for _ in 0..<20 {
            let watch = FileWatch(path: "\(folder)/a", isPattern: false)
            // Unstructured: the test continues meanwhile, and awaits or cancels it.
            let reader = Task { for await _ in watch.changes {} }
            watcher.begin(watch)
            reader.cancel()
            await reader.value
        }
        let stays = watch("b")
        watcher.begin(stays)
        while !watcher.isSettled { await Task.yield() }
        #expect(watcher.watchCount == depth)
        #expect(!stays.numbers.contains(nil))
    }
}

extension FileEvents {
    /// Whether there were no events.
    fileprivate var isEmpty: Bool { !isOverflown && directories.isEmpty && names.isEmpty }
}
