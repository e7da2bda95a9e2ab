// SPDX-License-Identifier: Apache-2.0

import Foundation
import StatusModel
import StatusSources
import Testing

@Suite("Plugins of Nagios'", .timeLimit(.minutes(1))) struct ExecCheckTests {
    private func run(
        _ script: String, timeout: Duration = .seconds(30), environment: [String: String] = [:]
    ) async throws -> CheckResult {
        try await ExecCheck(command: ["/bin/sh", "-c", script], timeout: timeout, environment: environment).run()
    }

    @Test(
        "the exit status says the level, others and signals are unknown",
        arguments: [
            ("echo fine", Level.ok, "fine"), ("echo hm; exit 1", .warning, "hm"),
            ("echo bad; exit 2", .critical, "bad"),
            ("echo what; exit 3", .unknown, "what"), ("echo odd; exit 4", .unknown, "odd (exit status 4)"),
            ("echo gone; kill -9 $$", .unknown, "gone (ended by signal 9, Killed)"),
        ])
    func levels(_ script: String, _ level: Level, _ text: String) async throws {
        #expect(try await run(script) == CheckResult(level, text))
    }

    @Test(
        "the text is the first line up to the performance data",
        arguments: [
            ("echo 'DISK OK - free space | /=1MB;2;3'; echo more", "DISK OK - free space"), ("echo '  x  '", "x"),
            ("true", "no output"), ("echo '|a=1'", "no output"), ("echo why >&2", "why"),
            ("echo out; echo why >&2", "out"),
            ("printf 'no newline'", "no newline"), (#"printf 'a\033[1mb\n'"#, #"a\u{1b}[1mb"#),
        ])
    func text(_ script: String, _ text: String) async throws {
        #expect(try await run(script).text == text)
    }

    @Test("arguments reach the plugin as they are, no shell sees them")
    func arguments() async throws {
        let check = ExecCheck(command: ["/bin/echo", "$HOME", "a  b", "*"], timeout: .seconds(30), environment: [:])
        #expect(try await check.run().text == "$HOME a  b *")
    }

    @Test("a plugin may write as much as it likes; what is kept is bounded")
    func muchOutput() async throws {
        let result = try await run("head -c 50000000 /dev/zero | tr '\\0' x; exit 1")
        #expect(result.level == .warning)
        #expect(result.text.utf8.count <= 8192)
    }

    @Test("it gets the environment that it is given, an empty standard input and /")
    func environment() async throws {
        #expect(try await run("echo $A; cat; pwd", environment: ["A": "b"]).text == "b")
        #expect(try await run("cat; pwd").text == "/")
        let inherited = CheckEnvironment.inherited(from: ["NOTIFY_SOCKET": "/x", "LANG": "C", "LISTEN_FDS": "1"])
        #expect(inherited.keys.sorted() == ["LANG", "PATH"])
    }

    @Test("a plugin that cannot be run is a failed load, which says why")
    func cannotRun() async throws {
        let missing = ExecCheck(command: ["/nonexistent/plugin"], timeout: .seconds(30), environment: [:])
        await #expect(throws: CheckFailure("cannot run /nonexistent/plugin: No such file or directory")) {
            try await missing.run()
        }
        let plain = ExecCheck(command: ["/etc/passwd"], timeout: .seconds(30), environment: [:])
        await #expect(throws: CheckFailure("cannot run /etc/passwd: Permission denied")) { try await plain.run() }
        let folder = ExecCheck(command: ["/tmp"], timeout: .seconds(30), environment: [:])
        await #expect(throws: CheckFailure("cannot run /tmp: it is no regular file")) { try await folder.run() }
        let script = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
        try "#!/nonexistent/interpreter\n".write(toFile: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: script) }
        chmod(script, 0o755)
        let orphan = ExecCheck(command: [script], timeout: .seconds(30), environment: [:])
        await #expect(throws: CheckFailure("cannot run \(script): its interpreter is missing")) {
            try await orphan.run()
        }
    }

    /// Returns when no process has `marker` among its arguments any more: what was killed is gone a moment later.
    private func ended(_ marker: String) async {
        while isRunning(marker) { await Task.yield() }
    }

    /// Whether any process has `marker` among its arguments.
    private func isRunning(_ marker: String) -> Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.contains { process in
            guard process.first?.isNumber == true else { return false }
            let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            return String(decoding: line, as: UTF8.self).split(separator: "\0").contains { $0 == marker }
        }
    }

    @Test("past its time the whole process group is ended, however it resists")
    func timeLimit() async throws {
        let marker = "86400.\(getpid())1"
        let result = try await run(
            "trap '' TERM; (trap '' TERM; sleep \(marker)) & sleep \(marker)", timeout: .milliseconds(100))
        #expect(result == CheckResult(.critical, "timed out after 100ms"))
        await ended(marker)
    }

    @Test("what a plugin leaves running in its group ends with it, and holds nothing up")
    func leftOver() async throws {
        let marker = "86400.\(getpid())2"
        #expect(try await run("sleep \(marker) & echo done").text == "done")
        await ended(marker)
    }

    @Test("who leaves the group and holds the output open holds nothing up")
    func daemonized() async throws {
        #expect(try await run("setsid sleep 5 & echo done").text == "done")
    }

    @Test("cancelling ends the process")
    func cancelled() async throws {
        let marker = "86400.\(getpid())3"
        let file = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
        #expect(mkfifo(file, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let task = Task { try await run("echo begun > \(file); exec sleep \(marker)") }
        // Opening a named pipe returns when the other side has opened it, too: the plugin runs.
        _ = FileManager.default.contents(atPath: file)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await ended(marker)
    }
}
