// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A program to start with posix_spawn(3).
///
/// It inherits the standard descriptors and those in ``streams``, and no others. No signal is blocked or ignored in it,
/// and its limit of descriptors is the one that this process was started with.
/// If it leads its own process group, it gets no signals of this process's group.
package struct ProcessStart: Sendable {
    /// The path of the program.
    package var path: String
    /// Its arguments, beginning with its own name.
    package var arguments: [String]
    /// Its environment; nil for this process's own.
    package var environment: [String: String]?
    /// The descriptors to pass, by their numbers in the new process.
    ///
    /// It inherits each standard descriptor that is missing here.
    package var streams: [Int32: Int32]
    /// Its working directory; nil for this process's own.
    package var directory: String?
    /// Whether it leads its own process group, which cannot read from this process's terminal.
    package var leadsGroup: Bool

    /// Describes a program; see the properties.
    package init(
        path: String, arguments: [String], environment: [String: String]? = nil, streams: [Int32: Int32] = [:],
        directory: String? = nil, leadsGroup: Bool = true
    ) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.streams = streams
        self.directory = directory
        self.leadsGroup = leadsGroup
    }

    /// Starts the program and returns its process.
    ///
    /// It blocks until the program has been executed, which may never happen on a disk that does not answer.
    ///
    /// - Throws: ``Failure`` with the error number.
    package func callAsFunction() throws(Failure) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (stream, descriptor) in streams { posix_spawn_file_actions_adddup2(&actions, descriptor, stream) }
        posix_spawn_file_actions_addclosefrom_np(&actions, max(STDERR_FILENO, streams.keys.max() ?? 0) + 1)
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }
        setAttributes(&attributes)
        var process = pid_t()
        let failure = withCStrings(arguments) { arguments in
            guard let environment else {
                return posix_spawn(&process, path, &actions, &attributes, arguments, linux_environment())
            }
            return withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                posix_spawn(&process, path, &actions, &attributes, arguments, environment)
            }
        }
        guard failure == 0 else { throw Failure(number: failure) }
        OwnedDescriptor.restoreLimit(of: process)
        return process
    }

    /// The reason why a program was not started.
    package struct Failure: Error, CustomStringConvertible {
        /// The error number.
        package let number: Int32

        package var description: String { String(cString: strerror(number)) }
    }

    private func setAttributes(_ attributes: inout posix_spawnattr_t) {
        var (all, none) = (sigset_t(), sigset_t([]))
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&attributes, Int16(group | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    }

    private func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}

/// A child process, held by a descriptor (pidfd_open(2)).
///
/// Once this object is released and the process has ended, the process is reaped.
package final class ChildProcess: Sendable {
    /// The process ID, which no other process gets before this object is released.
    package let number: Int32
    private let descriptor: OwnedDescriptor

    /// Starts a program.
    ///
    /// - Throws: ``ProcessStart/Failure``, also if there is no descriptor for the process, which is then killed.
    package init(_ start: ProcessStart) throws(ProcessStart.Failure) {
        number = try start()
        let descriptor = linux_open_process(number)
        guard descriptor >= 0 else {
            let failure = ProcessStart.Failure(number: errno)
            Glibc.kill(number, SIGKILL)
            while waitpid(number, nil, 0) < 0, errno == EINTR {}
            throw failure
        }
        self.descriptor = OwnedDescriptor(adopting: descriptor)
    }

    deinit {
        EventLoop.perform { [descriptor] in
            Self.whenEnded(descriptor) {
                var information = siginfo_t()
                waitid(P_PIDFD, id_t(descriptor.rawValue), &information, WEXITED | WNOHANG)
            }
        }
    }

    /// Calls `body` when the process has ended, or at once if the kernel cannot watch it; call this only once.
    @EventLoop package func whenEnded(_ body: @escaping @EventLoop () -> Void) {
        Self.whenEnded(descriptor) { withExtendedLifetime(self, body) }
    }

    @EventLoop private static func whenEnded(_ process: OwnedDescriptor, _ body: @escaping @EventLoop () -> Void) {
        var end: IOSource?
        end = try? IOSource(process, events: .readable) { _ in
            end?.cancel()
            body()
        }
        if end == nil { body() }
    }

    /// Kills the process if it has not ended.
    package func kill() { _ = linux_signal_process(descriptor.rawValue, SIGKILL) }
}

/// The environment variables of this process.
package enum ProcessEnvironment {
    /// All variables by name, as they are now.
    ///
    /// Foundation's `ProcessInfo` does the same, but costs a program that needs nothing else of Foundation half a
    /// millisecond.
    package static var current: [String: String] {
        var variables: [String: String] = [:]
        var next = linux_environment()
        while let variable = next?.pointee {
            let text = String(cString: variable)
            if let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                variables[String(text[..<equals])] = String(text[text.utf8.index(after: equals)...])
            }
            next = next?.advanced(by: 1)
        }
        return variables
    }
}
