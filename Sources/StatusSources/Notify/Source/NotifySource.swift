// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
import LogLimiting
import Logging
import StatusModel
import StatusMonitor

/// `notify: true`: a datagram socket that any program that speaks sd_notify(3) can be pointed at with `NOTIFY_SOCKET`.
///
/// `STATUS` becomes the text; `READY`, `RELOADING`, `STOPPING`, `ERRNO` and `WATCHDOG=trigger` the level, and the text where there is
/// none; `WATCHDOG=1` keeps a status fresh, for as long as `WATCHDOG_USEC` says. Descriptors that come along are released when the message has been handled: for
/// `BARRIER=1` that is the answer, since by then all that came before it has been posted.
@EventLoop
public final class NotifySource {
    /// How many are open.
    private(set) static var count = 0

    private let server: ServerName
    private let environment: SourceEnvironment
    private var monitor: StatusMonitor { environment.monitor }
    /// Logs messages that were too long; any sender can cause that.
    private lazy var refusals = LogLimiter(environment.logger, .warning)
    private var state = NotifyState()
    private var access: AccessPolicy
    private var socket: UnixDatagramSocket?
    /// Who is not heard any more by way of ``socket``.
    private var unheard = Unheard()
    /// The socket that was replaced last, as long as somebody may be about to send to it.
    private var formerSocket: UnixDatagramSocket?
    private var timer: TimerSource?
    /// Who may not send any more, and is heard until all has been handled that was sent before.
    private var revoked: Set<UInt32> = []
    /// How long programs have said that the status holds; zero: as long as the configuration says.
    private var times = LastWords<Duration>()

    /// How long a socket is read after another one has taken its place.
    private static let grace = Duration.seconds(1)

    /// The users who can still use a socket and are not heard.
    @EventLoop
    private final class Unheard {
        var users: Set<UInt32> = []
    }

    /// Opens the server's socket; the kernel lets only these processes send to it.
    ///
    /// - Parameter predecessor: the closed source of the same server, if any. What it knows of users who may still send still holds.
    init(
        of server: ServerName, in environment: SourceEnvironment, for access: AccessPolicy, predecessor: NotifySource?
    ) throws(IOError) {
        self.server = server
        self.environment = environment
        self.access = access
        socket = try makeSocket(try UnixSocket.bindDatagram(at: path, restrict: access.apply(toFile:)), unheard)
        Self.count += 1
        if let predecessor {
            (state, times) = (predecessor.state, predecessor.times)
            forget(predecessor.access.users(missingIn: access))
        } else {
            forgetTimeToLive()
        }
    }

    /// Has the kernel let these processes send and no others, even if they have connected before; opens the socket again if its path is gone.
    ///
    /// Senders always find a socket, and what was sent before is handled first.
    func open(for access: AccessPolicy) throws(IOError) {
        if isReachable(for: access) { return }
        let (before, unheard) = (self.unheard, Unheard())
        let next = try makeSocket(
            try hasPath
                ? UnixSocket.replaceDatagram(at: path, restrict: access.apply(toFile:))
                : UnixSocket.bindDatagram(at: path, restrict: access.apply(toFile:)),
            unheard, isHeld: true)
        endFormerSocket()
        let gone = self.access.users(missingIn: access)
        self.access = access
        revoked.formUnion(gone)
        formerSocket = socket
        (socket, self.unheard) = (next, unheard)
        // In the order in which it was sent: nothing has been read from the new one yet.
        formerSocket?.receiveAll {
            before.users = gone
            self.forget(gone)
            self.revoked.subtract(gone)
            next.resume()
        }
        timer = try TimerSource { [weak self] in self?.endFormerSocket() }
        timer?.schedule(after: Self.grace)
    }

    private func makeSocket(
        _ descriptor: OwnedDescriptor, _ unheard: Unheard, isHeld: Bool = false
    ) throws(IOError) -> UnixDatagramSocket {
        try UnixDatagramSocket(adopting: descriptor, isHeld: isHeld) { datagram in
            if !unheard.users.contains(datagram.sender) { self.receive(datagram) }
        }
    }

    /// Goes on with the new socket alone, after all that was sent to the former one.
    private func endFormerSocket() {
        timer = nil
        formerSocket.take()?.finish()
    }

    /// Forgets what these users' programs have said beside their statuses.
    private func forget(_ users: Set<UInt32>) {
        state.forget(users)
        guard times.forget(users) else { return }
        forgetTimeToLive()
        if let time = times.newest { try? setTimeToLive(time) }
    }

    private func setTimeToLive(_ time: Duration) throws(LedgerError) {
        try monitor.setTimeToLive(time == .zero ? nil : time, of: server)
    }

    private func forgetTimeToLive() {
        // A server that is not there yet, or no more, has no status that could go stale.
        try? monitor.forgetTimeToLive(of: server)
    }

    /// Removes the socket's path, handles what was sent to it before as far as there is time in this turn, and closes it.
    public func close() {
        guard let socket else { return }
        Self.count -= 1
        unlink(path)
        formerSocket.take()?.cancel()
        forget(revoked)
        timer = nil
        socket.resume()
        socket.cancel()
        self.socket = nil
    }

    /// Whether it has not been closed.
    var isOpen: Bool { socket != nil }

    /// Whether these processes, and no others, can send to its socket.
    func isReachable(for access: AccessPolicy) -> Bool { hasPath && self.access == access }

    private var hasPath: Bool { Glibc.access(path, F_OK) == 0 }

    private var path: String { "\(environment.notifyDirectory)/\(server)" }

    private func receive(_ datagram: borrowing Datagram) {
        guard socket != nil else { return }
        guard !datagram.isTruncated, let message = NotifyMessage(datagram.bytes) else {
            refusals.log(
                "ignored a notification of more than 64 KiB or 128 lines", about: "length",
                metadata: ["server": "\(server)"])
            return
        }
        do throws(LedgerError) {
            if let time = message.watchdogTime {
                try setTimeToLive(time)
                times.note(time, from: datagram.sender)
            }
            switch state.take(message, from: datagram.sender) {
            case .post(let text, let level): try monitor.post(text, level: level, to: server)
            case .touch: try monitor.touch(server)
            case .nothing: break
            }
        } catch {
            environment.logger.debug(
                "ignored a notification for a server that was removed",
                metadata: ["server": "\(server)", "reason": "\(error)"])
        }
    }
}

extension NotifySource: Source {}
