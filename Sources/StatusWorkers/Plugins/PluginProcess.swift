// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

/// A running plugin.
///
/// It is started without a shell. It leads a process group, its standard input is empty, and its directory is `/`.
struct PluginProcess {
    struct NotStarted: Error {
        let reason: String
    }

    private let process: pid_t
    var output: PluginStream
    var errors: PluginStream

    init(_ command: [String], environment: [String: String]) throws(NotStarted) {
        guard let output = OwnedDescriptor.makePipe(), let errors = OwnedDescriptor.makePipe() else {
            throw NotStarted(reason: String(cString: strerror(errno)))
        }
        let empty = OwnedDescriptor(adopting: open("/dev/null", O_RDONLY | O_CLOEXEC))
        defer { withExtendedLifetime((empty, output, errors)) {} }
        let start = ProcessStart(
            path: command[0], arguments: command, environment: environment,
            streams: [
                STDIN_FILENO: empty.rawValue, STDOUT_FILENO: output.writing.rawValue,
                STDERR_FILENO: errors.writing.rawValue,
            ], directory: "/")
        do throws(ProcessStart.Failure) {
            process = try start()
        } catch {
            throw NotStarted(reason: Self.reason(error, for: command[0]))
        }
        self.output = PluginStream(output.reading)
        self.errors = PluginStream(errors.reading)
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
        let isSettled = Descendants.end(within: .milliseconds(500))
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

enum PluginEnvironment {
    /// The variables that systemd set for this process alone.
    private static let own: Set = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
        "JOURNAL_STREAM", "INVOCATION_ID", "MAINPID", "SYSTEMD_EXEC_PID", "MEMORY_PRESSURE_WATCH",
        "MEMORY_PRESSURE_WRITE", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY",
        "CREDENTIALS_DIRECTORY", "SWIFT_BACKTRACE", "STATUSD_ADDRESS", "STATUSD_EXECUTOR",
    ]

    /// Returns the worker's environment without the variables for the worker alone, and always with `PATH`.
    static func inherited(from environment: [String: String]) -> [String: String] {
        var inherited = environment.filter { !own.contains($0.key) }
        if inherited["PATH"] == nil {
            inherited["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        }
        return inherited
    }
}
