// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// A running plugin.
///
/// No shell is involved. It leads a process group, its standard input is empty, and its directory is `/`.
struct PluginProcess {
    /// Why a plugin does not run.
    struct NotStarted: Error {
        let reason: String
    }

    private let process: pid_t
    var output: PluginStream
    var errors: PluginStream

    /// Starts a plugin.
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
        if stat(path, &status) != 0 { return SystemErrorText.text(of: errno) }
        if status.st_mode & S_IFMT != S_IFREG { return "not a regular file" }
        if failure.number == ENOENT { return "interpreter not found, or the first line ends in a carriage return" }
        if failure.number == ENOEXEC { return "neither a program for this machine nor a script with #!" }
        return SystemErrorText.text(of: failure.number)
    }

    /// Whether it has ended; it stays a zombie, so its number still means its group.
    var hasEnded: Bool {
        var information = siginfo_t()
        return waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) != 0
            || information.si_signo == SIGCHLD
    }

    /// Reaps dead processes that it has left.
    func reapOrphans() { Descendants.reapOrphans(beside: process) }

    /// Sends a signal to its group.
    func signal(_ number: Int32) { kill(-process, number) }

    /// Reaps it after its end, and kills what is left of its group.
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
