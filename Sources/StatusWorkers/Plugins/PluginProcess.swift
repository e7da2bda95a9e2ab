// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

/// A running plugin.
///
/// It is started without a shell. It leads a process group, and its directory is `/`.
struct PluginProcess {
    struct NotStarted: Error {
        let reason: String
    }

    private let process: pid_t
    private let sparesOthers: Bool
    var output: PluginStream
    var errors: PluginStream

    init(_ call: PluginCall, environment: [String: String]) throws(NotStarted) {
        guard let output = OwnedDescriptor.makePipe(), let errors = OwnedDescriptor.makePipe(),
            let input = Self.file(with: call.input)
        else { throw NotStarted(reason: String(cString: strerror(errno))) }
        defer { withExtendedLifetime((input, output, errors)) {} }
        let command = call.command
        let start = ProcessStart(
            path: command[0], arguments: command, environment: environment,
            streams: [
                STDIN_FILENO: input.rawValue, STDOUT_FILENO: output.writing.rawValue,
                STDERR_FILENO: errors.writing.rawValue,
            ], directory: "/")
        do throws(ProcessStart.Failure) {
            process = try start()
        } catch {
            throw NotStarted(reason: Self.reason(error, for: command[0]))
        }
        sparesOthers = call.sparesOthers
        self.output = PluginStream(output.reading)
        self.errors = PluginStream(errors.reading)
    }

    /// A file in memory, which is read from its beginning, so that nobody waits for the program to read.
    private static func file(with text: String) -> OwnedDescriptor? {
        if text.isEmpty { return OwnedDescriptor(adopting: open("/dev/null", O_RDONLY | O_CLOEXEC)) }
        let descriptor = linux_memory_file("input")
        guard descriptor >= 0 else { return nil }
        let file = OwnedDescriptor(adopting: descriptor)
        var text = text
        let count = text.utf8.count
        let written = text.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        return written == count ? file : nil
    }

    private static func reason(_ failure: ProcessStart.Failure, for path: String) -> String {
        var status = stat()
        if stat(path, &status) != 0 {
            let number = errno
            return HiddenFolders.current.reason(for: path) ?? SystemErrorText.text(of: number)
        }
        if status.st_mode & S_IFMT != S_IFREG { return "not a regular file" }
        if failure.number == ENOENT { return "interpreter not found, or the first line ends in a carriage return" }
        // The kernel refuses programs with capabilities that the sandbox does not allow (capabilities(7)).
        if failure.number == EPERM { return "it needs capabilities; see “Plugins” in statusd(8)" }
        if failure.number == ENOEXEC { return "neither a program for this machine nor a script with #!" }
        return SystemErrorText.text(of: failure.number)
    }

    /// Whether the plugin has ended; it stays a zombie, so that its process ID still identifies its group.
    var hasEnded: Bool {
        var information = siginfo_t()
        return waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) != 0
            || information.si_signo == SIGCHLD
    }

    /// Reaps dead processes that the plugin left.
    func reapOrphans() { Descendants.reapOrphans(except: process) }

    func signal(_ number: Int32) { kill(-process, number) }

    /// Reaps the plugin after its end, and kills the processes that it left.
    consuming func finish() -> PluginOutcome {
        signal(SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let isSettled = Descendants.end(within: .milliseconds(500), sparesOthers: sparesOthers)
        output.read()
        errors.read()
        let (code, number) = (Int(status >> 8 & 0xff), Int(status & 0x7f))
        return PluginOutcome(
            number == 0 ? .exited(code) : .signaled(number), output: output.text, errors: errors.text,
            leavesProcesses: !isSettled)
    }
}

struct PluginStream {
    /// The number of bytes to keep; further bytes are read and dropped.
    ///
    /// It is one more than is shown, so that the cut shows.
    private static let limit = 8192 + 1

    private var bytes: [UInt8] = []
    /// The descriptor to read from; nil after the end.
    private(set) var descriptor: OwnedDescriptor?

    init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Reads what is available, but no more than a pipe holds.
    mutating func read() {
        guard let descriptor else { return }
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        let count = Glibc.read(descriptor.rawValue, &chunk, chunk.count)
        if count > 0 {
            bytes += chunk.prefix(min(count, Self.limit - bytes.count))
        } else if count == 0 || errno != EAGAIN {
            self.descriptor = nil
        }
    }
}

/// The variables of a plugin: the worker's own, without those for the worker alone, and always with `PATH`.
struct PluginEnvironment {
    /// The variables that systemd set for this process alone.
    private static let own: Set = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
        "JOURNAL_STREAM", "INVOCATION_ID", "MAINPID", "SYSTEMD_EXEC_PID", "MEMORY_PRESSURE_WATCH",
        "MEMORY_PRESSURE_WRITE", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY",
        "CREDENTIALS_DIRECTORY", "SWIFT_BACKTRACE", "STATUSD_ADDRESS", "STATUSD_EXECUTOR", "STATUSD_ALERTS",
    ]

    private let inherited: [String: String]
    /// Where systemd has put the credentials of the service.
    private let credentials: String?

    init(_ environment: [String: String]) {
        var inherited = environment.filter { !Self.own.contains($0.key) }
        if inherited["PATH"] == nil {
            inherited["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        }
        self.inherited = inherited
        credentials = environment["CREDENTIALS_DIRECTORY"]
    }

    /// The variables for a call; throws if the service lacks a credential that it names.
    func variables(for call: PluginCall) throws(PluginProcess.NotStarted) -> [String: String] {
        var variables = inherited.merging(call.environment) { _, new in new }
        guard !call.credentials.isEmpty else { return variables }
        for name in call.credentials where access((credentials ?? "/nonexistent") + "/" + name, R_OK) != 0 {
            throw PluginProcess.NotStarted(
                reason:
                    "no credential “\(name)”; add LoadCredential=\(name):/path by “systemctl edit statusd-alerts”, "
                    + "and restart that service")
        }
        variables["CREDENTIALS_DIRECTORY"] = credentials
        return variables
    }
}
