// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import Subprocess
import SystemPackage
import Systemd

/// `exec: [/path, argument]`: runs a plugin by the Nagios plugin interface.
///
/// No shell is involved. The exit status says the level, the first line up to `|` the text
/// (<https://www.monitoring-plugins.org/doc/guidelines.html>). The plugin is the leader of a process group of its own; what is left
/// of the group when the plugin has ended, or when its time is over, is killed.
public struct ExecCheck: Check {
    /// The path of the plugin, and its arguments.
    let command: [String]
    /// How long it may run.
    let timeout: Duration
    /// Its environment.
    let environment: [String: String]

    public var resource: CheckBudget.Resource { .process }

    /// How many bytes of each stream are kept; what is more is read and forgotten.
    private static let outputLimit = 8192
    /// How long a plugin whose time is over has to clean up, before it is killed.
    private static let grace = Duration.milliseconds(500)

    /// A check that runs `command`.
    public init(command: [String], timeout: Duration, environment: [String: String]) {
        self.command = command
        self.timeout = timeout
        self.environment = environment
    }

    public func run() async throws -> CheckResult {
        do {
            return try await withTimeLimit(timeout) { try await runPlugin() }
        } catch is TimeLimitExceeded {
            // As Nagios does by default (service_check_timeout_state), and as tcp and http do.
            return CheckResult(.critical, "timed out after \(TimeSpan.text(timeout))")
        } catch let error as SubprocessError {
            try Task.checkCancellation()
            throw CheckFailure("cannot run \(command[0]): \(reason(error))")
        }
    }

    private func runPlugin() async throws -> CheckResult {
        let result = try await Subprocess.run(
            configuration, input: .none, output: .sequence, error: .sequence
        ) { execution in
            async let output = Self.collect(execution.standardOutput)
            async let errors = Self.collect(execution.standardError)
            await Self.endGroup(of: execution.processIdentifier)
            return PluginOutput(standardOutput: await output, standardError: await errors)
        }
        try Task.checkCancellation()
        return result.closureResult.result(of: result.terminationStatus)
    }

    private var configuration: Configuration {
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [.gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: Self.grace)]
        let variables = environment.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
        return Configuration(
            executable: .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())),
            environment: .custom(Dictionary(uniqueKeysWithValues: variables)), workingDirectory: "/",
            platformOptions: options)
    }

    /// Waits for the plugin's end, and kills what is left of its group.
    @EventLoop
    private static func endGroup(of process: ProcessIdentifier) async {
        // A descriptor that cannot be watched is one that the kernel does not have; then nobody knows when it is safe to kill.
        guard let end = try? Readiness(of: process.processDescriptor, for: .readable), await end.wait() else { return }
        // The plugin is a zombie as long as this is awaited, so that its number still means its group.
        kill(-process.value, SIGKILL)
    }

    /// Reads a stream to its end and returns how it began.
    private static func collect(_ stream: SubprocessOutputSequence) async -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            for try await buffer in stream {
                let room = outputLimit - bytes.count
                if room > 0 { buffer.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(room)) } }
            }
        } catch {
            // Somebody who left the group holds the stream open while the plugin has ended: what there is has been read.
        }
        return bytes
    }

    /// Why the plugin does not run: swift-subprocess says of whatever it cannot execute that it is not there.
    private func reason(_ error: SubprocessError) -> String {
        var status = stat()
        if stat(command[0], &status) != 0 { return String(cString: strerror(errno)) }
        if status.st_mode & S_IFMT != S_IFREG { return "it is no regular file" }
        if access(command[0], X_OK) != 0 { return String(cString: strerror(errno)) }
        if error.code == .executableNotFound { return "its interpreter is missing" }
        return error.underlyingError.map { String(cString: strerror($0.rawValue)) } ?? error.description
    }
}
