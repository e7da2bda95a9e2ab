// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import Varlink

/// Where the daemon is: at a socket of this host, behind a program, or on another host.
enum DaemonAddress: Sendable, Hashable, CustomStringConvertible {
    /// A socket or a program of this host.
    case local(VarlinkAddress)
    case remote(RemoteHost)

    /// The system's daemon on this host.
    static let system = DaemonAddress.local(.unix(.path(MonitorAddress.system)))

    /// The address in `STATUSD_ADDRESS`, or the user's own daemon, or the system's.
    static func standard() throws(IOError) -> DaemonAddress {
        .local(try MonitorAddress.standard(environment: ProcessEnvironment.current, isRoot: geteuid() == 0))
    }

    var description: String {
        switch self {
        // The user may have copied it from elsewhere.
        case .local(let address): VisibleText.escape("\(address)")
        case .remote(let host): host.name
        }
    }

    /// The host's name for a title; for a socket other than the system's, the address.
    var hostName: String {
        switch self {
        case .remote(let host): return host.name
        case .local where self != .system: return "\(self)"
        case .local:
            var name = [CChar](repeating: 0, count: 65)
            gethostname(&name, name.count - 1)
            return VisibleText.escape(
                String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
    }

    /// Where the daemon writes its messages: the service manager starts only the system's.
    var log: String {
        switch self {
        case .system: "“systemctl status statusd.socket statusd”"
        case .local: "the messages of that daemon"
        case .remote(let host): "“ssh \(host.name) systemctl status statusd.socket statusd”"
        }
    }

    /// What to do about a daemon that has been away for longer than a restart takes.
    var absenceAdvice: String {
        switch self {
        case .local: "the daemon is still away; see \(log)"
        // It may also be the host, or the network.
        case .remote(let host): "there is still no connection to \(host.name); try \(log)"
        }
    }

    /// The options of statusctl that choose this daemon; none for the one that it uses without options.
    var options: [String] {
        switch self {
        case .remote(let host): ["-H", host.name] + (host.address.map { ["--address", "\($0)"] } ?? [])
        case .local where self == (try? .standard()): []
        case .local(let address): ["--address", "\(address)"]
        }
    }

    /// Whether it is a socket of this host, so that the daemon's users are those of this host.
    var isSocket: Bool {
        if case .local(.unix) = self { true } else { false }
    }

    /// Whether a daemon that has closed the connection may come back; a program is run for each connection.
    var mayRestart: Bool { isSocket || isRemote }

    /// Whether it is another host's.
    var isRemote: Bool {
        if case .remote = self { true } else { false }
    }

    /// Connects to the daemon.
    ///
    /// - Parameters:
    ///   - mayStart: whether connecting may start the daemon.
    ///   - isRetry: whether the user did not ask for this connection now; then ssh(1) neither asks the user nor writes
    ///     messages.
    ///   - timeout: how long to wait for room in the daemon's backlog, or until another host has answered; nil for 5 s,
    ///     or 2 min.
    func connect(
        mayStart: Bool = true, isRetry: Bool = false, timeout: Duration? = nil
    ) async throws(VarlinkClientError) -> MonitorClient {
        switch self {
        case .local(let address):
            return try await MonitorClient.connect(to: address, mayStart: mayStart, timeout: timeout ?? .seconds(5))
        case .remote(let host): return try await Self.connect(to: host, mayStart, isRetry, timeout ?? .seconds(120))
        }
    }

    private static func nowhere() throws(IOError) -> OwnedDescriptor {
        let descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot open /dev/null") }
        return OwnedDescriptor(adopting: descriptor)
    }

    /// Connects to another host, and returns when its daemon has answered.
    private static func connect(
        to host: RemoteHost, _ mayStart: Bool, _ isRetry: Bool, _ timeout: Duration
    ) async throws(VarlinkClientError) -> MonitorClient {
        let (bridge, relay, errors): (VarlinkAddress, ErrorRelay?, OwnedDescriptor)
        do throws(IOError) {
            bridge = try host.address(mayStart: mayStart, isRetry: isRetry)
            (relay, errors) = isRetry ? (nil, try nowhere()) : try await ErrorRelay.start(of: host.name)
        } catch {
            throw VarlinkClientError(.system, error.message)
        }
        let client = try await MonitorClient.connect(to: bridge, errorOutput: errors)
        do throws(MonitorError) {
            try await client.checkAnswers(within: timeout)
        } catch {
            await relay?.passRest()
            if case .connection(let error) = error, error.code != .closed { throw error }
            throw VarlinkClientError(.noService, "the connection to \(host.name) ended")
        }
        return client
    }
}
