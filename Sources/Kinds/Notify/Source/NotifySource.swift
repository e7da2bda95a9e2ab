// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
import Logging
import StatusModel
public import StatusMonitor

/// `notify: true`: a datagram socket for any program that speaks sd_notify(3).
///
/// `STATUS` becomes the text; `READY`, `RELOADING`, `STOPPING`, `ERRNO` and `WATCHDOG=trigger` set the level, and the
/// text if there is none. `WATCHDOG=1` keeps a status fresh for the time that `WATCHDOG_USEC` sets. Descriptors in a
/// message are closed after it has been handled. For `BARRIER=1` this is the answer: all earlier messages have been
/// posted.
@EventLoop
public final class NotifySource {
    private(set) static var count = 0

    private let server: ServerName
    private let environment: SourceEnvironment
    private var monitor: StatusMonitor { environment.monitor }
    /// Logs messages that were too long, limited because any sender can cause them.
    private lazy var refusals = LogLimiter(environment.logger, .warning)
    private var state = NotifyState()
    private var access: AccessPolicy
    private var socket: UnixDatagramSocket?
    /// The previous socket, while senders may still use it.
    private var formerSocket: UnixDatagramSocket?
    private var timer: TimerSource?
    /// The users who may no longer send, until all their earlier messages have been handled.
    private var revoked: Set<UInt32> = []
    /// The times to live that programs requested; zero means the configured one.
    private var times = LastReports<Duration>()

    /// How long a replaced socket is still read from.
    private static let grace = Duration.seconds(1)

    /// Opens the server's socket; the kernel lets only these processes send to it.
    ///
    /// - Parameters:
    ///   - predecessor: the closed source of the same server, if any. The new source keeps the reports of users who may
    ///     still send.
    ///   - restored: the memory of an earlier run of the daemon, if any.
    init(
        of server: ServerName, in environment: SourceEnvironment, for access: AccessPolicy, predecessor: NotifySource?,
        restored: RestoredSource?
    ) throws(IOError) {
        self.server = server
        self.environment = environment
        self.access = access
        socket = try makeSocket(try UnixSocket.bindDatagram(at: path, restrict: access.apply(toFile:)))
        Self.count += 1
        if let predecessor {
            (state, times) = (predecessor.state, predecessor.times)
            forget(predecessor.access.users(missingIn: access))
        } else if !restoreTimeToLive(restored) {
            forgetTimeToLive()
        }
    }

    /// Restores the time to live that a program requested before a restart; returns whether there is one.
    private func restoreTimeToLive(_ restored: RestoredSource?) -> Bool {
        guard let user = restored?.memory.timeToLiveUser else { return false }
        times.note((try? monitor.ownTimeToLive(of: server)) ?? .zero, from: user)
        return true
    }

    /// Lets only these processes send, even if others are already connected.
    ///
    /// It also reopens the socket if its path was removed. Senders always find a socket, and earlier messages are
    /// handled first.
    func open(for access: AccessPolicy) throws(IOError) {
        if isReachable(for: access) { return }
        let next = try makeSocket(
            try hasPath
                ? UnixSocket.replaceDatagram(at: path, restrict: access.apply(toFile:))
                : UnixSocket.bindDatagram(at: path, restrict: access.apply(toFile:)),
            isHeld: true)
        endFormerSocket()
        let gone = self.access.users(missingIn: access)
        self.access = access
        revoked.formUnion(gone)
        formerSocket = socket
        socket = next
        // Keep the order of messages: the new socket is read from only after the former one.
        formerSocket?.receiveAll { [formerSocket] in
            formerSocket?.setHandler { if !gone.contains($0.sender) { self.receive($0) } }
            self.forget(gone)
            self.revoked.subtract(gone)
            next.resume()
        }
        timer = try TimerSource { [weak self] in self?.endFormerSocket() }
        timer?.schedule(after: Self.grace)
    }

    private func makeSocket(
        _ descriptor: OwnedDescriptor, isHeld: Bool = false
    ) throws(IOError) -> UnixDatagramSocket {
        try UnixDatagramSocket(adopting: descriptor, isHeld: isHeld) { self.receive($0) }
    }

    /// Closes the former socket after handling all its messages.
    private func endFormerSocket() {
        timer = nil
        formerSocket.take()?.finish()
    }

    /// Forgets the reports of these users' programs, except their statuses.
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
        // This fails if the server does not exist; then it has no status that could become stale.
        try? monitor.forgetTimeToLive(of: server)
    }

    /// Removes the socket's path, handles earlier messages if this turn has time left, and closes the socket.
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

    var isOpen: Bool { socket != nil }

    /// Whether exactly these processes can reach the socket.
    func isReachable(for access: AccessPolicy) -> Bool { hasPath && self.access == access }

    private var hasPath: Bool { Glibc.access(path, F_OK) == 0 }

    private var path: String { "\(environment.notifyDirectory)/\(server)" }

    private func receive(_ datagram: borrowing Datagram) {
        guard socket != nil else { return }
        guard !datagram.isTruncated, let message = NotifyMessage(datagram.bytes) else {
            refusals.log(
                "ignored a notification for \(server) of more than 64 KiB or 128 lines, or with NUL bytes",
                about: "length",
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

extension NotifySource: Source {
    public func note(in memory: inout SourceMemory) { memory.timeToLiveUser = times.newestSender }
}
