// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusModel
import StatusWorkers
import Testing

@testable import StatusSources

@Suite("Settings of plugins") struct ExecSettingsTests {
    @Test("a command and its arguments are read, and the command must exist")
    func reads() throws {
        let settings = try #require(try ExecSettings.read("exec: [/bin/check, -w, 10%, \"\"]").settings)
        #expect(settings == ExecSettings(command: ["/bin/check", "-w", "10%", ""]))
        #expect(settings.requirements == [.program("/bin/check")])
    }

    @Test(
        "an argument that names what the service's plugins do not see is found, also in a script or an option",
        arguments: [
            ("/run/reboot-required", "/run/reboot-required", "TemporaryFileSystem=", "/run"),
            ("/run", "/run", "TemporaryFileSystem=", "/run"),
            ("/var/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "TemporaryFileSystem=", "/run"),
            ("/dev/shm", "/dev/shm", "TemporaryFileSystem=", "/dev/shm"),
            ("/dev/sda", "/dev/sda", "PrivateDevices=", "/dev"),
            ("-p/dev/shm/x", "/dev/shm/x", "TemporaryFileSystem=", "/dev/shm"),
            ("--path=/tmp", "/tmp", "PrivateTmp=", "/tmp"),
            ("[ -e /var/tmp/a ] && exit 2", "/var/tmp/a", "PrivateTmp=", "/var/tmp"),
            ("if [ -e '/run/a' ]; then exit 1; fi", "/run/a", "TemporaryFileSystem=", "/run"),
            ("/var/lib/statusd/state", "/var/lib/statusd/state", "InaccessiblePaths=", "/var/lib/statusd"),
        ])
    func hiddenArguments(_ argument: String, _ path: String, _ setting: String, _ folder: String) {
        let settings = ExecSettings(command: ["/bin/check", "-f", argument])
        let reason = "\(setting) of statusd-executor.service hides \(folder)"
        #expect(settings.hiddenArgument == "the plugin does not see the host's \(path): \(reason)")
    }

    @Test(
        "other arguments are visible to plugins",
        arguments: [
            "/dev/null", "x 2>/dev/null", "/dev/tcp/127.0.0.1/80", "/dev/log", "/run/systemd/notify", "/srv/run/a", "/",
            "http://localhost/run/a", "/runner", "/home/a", "-", "",
        ])
    func visibleArguments(_ argument: String) {
        #expect(ExecSettings(command: ["/bin/check", argument]).hiddenArgument == nil)
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "/bin/true", "[]", "[/bin/a, \(String(repeating: "x", count: 16_384))]", "[check_disk]", "[/bin/a, [b]]",
            "[/bin/a, \"\\0\"]",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try ExecSettings.read("exec: \(value)") }
    }
}

@Suite("Nagios plugins", .timeLimit(.minutes(5))) struct ExecCheckTests {
    private let pool: WorkerPool<PluginCall>
    private let disk: ServerName

    init() async throws {
        disk = try #require(ServerName("disk"))
        // statusd is built along with the tests, because they depend on it.
        let arguments = CommandLine.arguments
        let bundle = arguments.firstIndex(of: "--test-bundle-path").map { arguments[$0 + 1] } ?? arguments[0]
        let folder = URL(fileURLWithPath: bundle).deletingLastPathComponent()
        pool = await WorkerPool(.plugins(.program(folder.appendingPathComponent("statusd").path)))
    }

    private func check(_ command: [String], timeout: Duration = .seconds(30)) -> ExecCheck {
        ExecCheck(settings: ExecSettings(command: command), server: disk, timeout: timeout, pool: pool)
    }

    private func run(_ script: String, timeout: Duration = .seconds(30)) async throws -> CheckResult {
        try await check(["/bin/sh", "-c", script], timeout: timeout).run()
    }

    @Test(
        "the exit status is the level; other statuses and signals are unknown",
        arguments: [
            ("echo fine", Level.ok, "fine"), ("echo hm; exit 1", .warning, "hm"),
            ("echo bad; exit 2", .critical, "bad"),
            ("echo what; exit 3", .unknown, "what"), ("echo odd; exit 4", .unknown, "odd (exit status 4)"),
            ("echo gone; kill -9 $$", .unknown, "gone (ended by signal 9, Killed)"),
        ])
    func levels(_ script: String, _ level: Level, _ text: String) async throws {
        let result = try await run(script)
        #expect(result.level == level)
        #expect(result.text == text)
    }

    @Test(
        "the text is the first line up to the performance data",
        arguments: [
            ("echo 'DISK OK - free space | /=1MB;2;3'; echo more", "DISK OK - free space"), ("echo '  x  '", "x"),
            ("true", "no output"), ("echo '|a=1'", "no output"), (#"printf '\n\nlate\n'"#, "late"),
            ("echo why >&2", "why"), ("echo out; echo why >&2", "out"),
            ("printf 'no newline'", "no newline"), (#"printf 'one\r\ntwo\r\n'"#, "one"),
            (#"printf 'fine|\314\201time=1'"#, "fine"), (#"printf 'a\033[1mb\n'"#, #"a\u{1b}[1mb"#),
        ])
    func text(_ script: String, _ text: String) async throws {
        #expect(try await run(script).text == text)
    }

    @Test("arguments reach the plugin unchanged, without a shell")
    func arguments() async throws {
        #expect(try await check(["/bin/echo", "$HOME", "a  b", "*"]).run().text == "$HOME a  b *")
    }

    @Test("a plugin may write any amount of output; only the beginning is kept")
    func muchOutput() async throws {
        let result = try await run("head -c 50000000 /dev/zero | tr '\\0' x; exit 1")
        #expect(result.level == .warning)
        #expect(result.text.utf8.count <= 8192)
    }

    @Test("a plugin gets an empty standard input, / as its directory, and no other open files")
    func surroundings() async throws {
        #expect(try await run("cat; pwd").text == "/")
        #expect(try await run("for n in $(seq 3 99); do [ -e /proc/$$/fd/$n ] && echo $n; done").text == "no output")
    }

    private static let sandboxedSudo =
        "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root."

    @Test(
        "a plugin that could not get the rights of another user has failed, with the reason",
        arguments: [
            (
                "\(sandboxedSudo)\nsudo: If sudo is running in a container, you may need to adjust it.", 1,
                sandboxedSudo
            ),
            (
                "sudo: effective uid is not 0, is sudo installed setuid root?", 1,
                "sudo: effective uid is not 0, is sudo installed setuid root?"
            ),
            (
                "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set", 1,
                "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set"
            ),
            ("pkexec must be setuid root", 127, "pkexec must be setuid root"),
            ("doas: not installed setuid", 1, "doas: not installed setuid"),
            ("Password: su: Authentication failure", 1, "Password: su: Authentication failure"),
            ("su: must be run from a terminal", 1, "su: must be run from a terminal"),
            (
                "ping: socket: Operation not permitted\nping: => missing cap_net_raw+p capability or setuid?", 2,
                "ping: => missing cap_net_raw+p capability or setuid?"
            ),
            ("sudo: a password is required", 1, "sudo: a password is required"),
            (
                "sudo: unable to resolve host a: Name or service not known\nsudo: check_raid: command not found",
                1, "sudo: check_raid: command not found"
            ),
            (
                "Sorry, user x is not allowed to execute '/bin/y' as root on z.", 1,
                "Sorry, user x is not allowed to execute '/bin/y' as root on z."
            ),
            (
                "Error executing command as another user: Not authorized", 127,
                "Error executing command as another user: Not authorized"
            ),
            (
                "runuser: may not be used by non-root users", 1, "runuser: may not be used by non-root users"
            ),
            ("Password: Invalid password.", 1, "Password: Invalid password."),
            (
                "nsenter: cannot open /proc/1/ns/mnt: Permission denied", 1,
                "nsenter: cannot open /proc/1/ns/mnt: Permission denied"
            ),
            ("ERROR: Failed to drop privileges", 1, "ERROR: Failed to drop privileges"),
            (sandboxedSudo, 0, sandboxedSudo),
        ])
    func withoutRights(errors: String, status: Int, reason: String) throws {
        let outcome = PluginOutcome(.exited(status), errors: errors)
        let failure = #expect(throws: CheckFailure.self) { try outcome.result(of: "/x", timeout: .seconds(1)) }
        #expect(failure?.description == "cannot run /x: \(reason); see “Plugins” in statusd(8)")
        #expect(failure?.output == PluginOutput(output: "", errors: errors, exitStatus: status))
    }

    @Test("a plugin that was run counts, whatever sudo says besides, and whatever it quotes from a log")
    func withRights() throws {
        let log = PluginOutcome(.exited(2), output: "CRITICAL: 3 lines: su: Authentication failure", errors: "su: x")
        #expect(try log.result(of: "/x", timeout: .seconds(1)).level == .critical)
        let warning = "sudo: unable to resolve host a: Name or service not known"
        let ran = PluginOutcome(.exited(1), output: "WARNING: 1 disk is slow", errors: warning)
        #expect(try ran.result(of: "/x", timeout: .seconds(1)).text == "WARNING: 1 disk is slow")
        let handled = PluginOutcome(.exited(0), output: "OK without sudo", errors: Self.sandboxedSudo)
        #expect(try handled.result(of: "/x", timeout: .seconds(1)).text == "OK without sudo")
    }

    @Test("if a plugin cannot be run, the check fails with the reason")
    func cannotRun() async throws {
        func fails(_ path: String, _ reason: String) async {
            await #expect(throws: CheckFailure("cannot run \(path): \(reason)")) { try await check([path]).run() }
        }
        await fails("/nonexistent/plugin", "No such file or directory")
        await fails("/etc/passwd", "Permission denied for the user \(NSUserName())")
        await fails("/tmp", "not a regular file")
        let script = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
        try "#!/nonexistent/interpreter\n".write(toFile: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: script) }
        chmod(script, 0o755)
        await fails(script, "interpreter not found, or the first line ends in a carriage return")
        try "echo ready\n".write(toFile: script, atomically: false, encoding: .utf8)
        await fails(script, "neither a program for this machine nor a script with #!")
    }

    /// Returns when no process has `marker` among its arguments any more.
    ///
    /// A killed process takes a short time to vanish.
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

    @Test("after a timeout the whole process group is killed, even if it ignores SIGTERM")
    func timeLimit() async throws {
        let marker = "86400.\(getpid())1"
        let result = try await run(
            "trap '' TERM; (trap '' TERM; sleep \(marker)) & sleep \(marker)", timeout: .milliseconds(100))
        #expect(result.level == .critical)
        #expect(result.text == "timed out after 100ms")
        await ended(marker)
    }

    @Test("a worker's start does not count towards the plugin's timeout")
    func timeOfWorker() async throws {
        let result = try await run("exec sleep 86400", timeout: .milliseconds(1))
        #expect(result.level == .critical)
        #expect(result.text == "timed out after 1ms")
    }

    @Test("processes that a plugin leaves in its group are ended, and delay nothing")
    func leftOver() async throws {
        let marker = "86400.\(getpid())2"
        #expect(try await run("sleep \(marker) & echo done").text == "done")
        await ended(marker)
    }

    @Test("processes that leave the group or become daemons are also ended")
    func daemonized() async throws {
        let marker = "86400.\(getpid())4"
        #expect(try await run("setsid sh -c 'sleep \(marker) & sleep \(marker)' & echo done").text == "done")
        #expect(!isRunning(marker))
    }

    @Test("checks that begin together all end, also if the first of them hangs")
    func together() async throws {
        let marker = "86400.\(getpid())6"
        let hanging = Task { try await check(["/bin/sleep", marker]).run() }
        while !isRunning(marker) { await Task.yield() }
        try await withThrowingTaskGroup { group in
            for _ in 1...5 { group.addTask { try await run("echo done").text } }
            for try await text in group { #expect(text == "done") }
        }
        hanging.cancel()
        await #expect(throws: CancellationError.self) { try await hanging.value }
    }

    @Test("a plugin starts only after the server's previous plugin has ended")
    func predecessor() async throws {
        let marker = "86400.\(getpid())5"
        let stubborn = "trap '' TERM; sleep \(marker); sleep \(marker)"
        #expect(try await run(stubborn, timeout: .milliseconds(100)).text == "timed out after 100ms")
        #expect(try await run("echo done").text == "done")
        #expect(!isRunning(marker))
    }

    @Test("a killed worker fails its own check, and no other")
    func killedWorker() async throws {
        await #expect(throws: CheckFailure("cannot run /bin/sh: its worker ended")) {
            try await run("kill -9 $PPID; sleep 30")
        }
        #expect(try await run("echo well").text == "well")
    }

    @Test("cancelling a check ends the process")
    func cancelled() async throws {
        let marker = "86400.\(getpid())3"
        let file = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
        #expect(mkfifo(file, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: file) }
        // Unstructured: the test continues meanwhile, and awaits or cancels it.
        let task = Task { try await run("echo begun > \(file); exec sleep \(marker)") }
        // Opening a named pipe returns when the other side has opened it: the plugin is running.
        _ = FileManager.default.contents(atPath: file)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await ended(marker)
    }
}
