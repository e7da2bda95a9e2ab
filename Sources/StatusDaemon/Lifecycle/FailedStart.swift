// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import Synchronization
import Varlink

/// Answers the clients that made the service manager start a daemon that cannot start.
///
/// Without an answer, they would keep waiting, and the service manager would start the daemon again and again until it gives up on both units.
@EventLoop
struct FailedStart {
    /// How long the daemon answers clients after the first one, if it can check whether the cause has been corrected.
    ///
    /// This keeps the number of starts below the units' limits: 100 in 10 s, and systemd's own for a socket, 20 in 2 s.
    private static let stay = Duration.seconds(2)
    /// The same without a check; shorter, because a start that an administrator requests meanwhile joins the failing one.
    private static let shortStay = Duration.milliseconds(200)
    /// The pause before each check.
    private static let interval = Duration.milliseconds(50)
    /// How long the last clients have to read their answers.
    private static let grace = Duration.milliseconds(20)
    /// The number of clients of each socket that are answered after each check, because a user can make each answer take milliseconds.
    private static let clientsAtATime = 16
    /// The number of connections of each socket that stay open, because a user can make each close take seconds.
    ///
    /// Beyond it, ordinary clients wait for the next start.
    private static let mostClients = 64

    /// Checks whether a start would succeed now.
    typealias Check = @EventLoop () async -> Bool

    private let sockets = InheritedSockets.take()
    private let message: [UInt8]
    /// Nil if that cannot be checked.
    private let isCorrected: Check?
    /// The clients that were answered.
    ///
    /// They stay open until the end: a client whose connection is closed while it still writes its call may not read the answer.
    private var clients: [OwnedDescriptor] = []
    /// The clients of the socket that ordinary users cannot keep busy.
    private var privileged: [OwnedDescriptor] = []

    /// Reports the reason to all clients that connect.
    ///
    /// - Parameters:
    ///   - reason: why the daemon does not start.
    ///   - isCorrected: checks whether a start would succeed now; nil if that cannot be checked.
    /// - Returns: whether a start would succeed now. Then the daemon must start: a start requested meanwhile has joined this one.
    static func answerClients(_ reason: String, isCorrected: Check? = nil) async -> Bool {
        var start = FailedStart(
            message: MonitorError.startFailed(reason: reason).reply?.reply ?? [], isCorrected: isCorrected)
        guard await start.answerUntilCorrected() else { return false }
        start.sockets.giveBack()
        _ = Closing(&start.clients)
        _ = Closing(&start.privileged)
        return true
    }

    private init(message: [UInt8], isCorrected: Check?) {
        self.message = message
        self.isCorrected = isCorrected
    }

    /// Answers for a while, and until all connections of ordinary users are closed; returns whether a start would succeed now.
    private mutating func answerUntilCorrected() async -> Bool {
        answer()
        guard !clients.isEmpty || !privileged.isEmpty else { return false }
        let end = ContinuousClock.now + (isCorrected == nil ? Self.shortStay : Self.stay)
        while ContinuousClock.now < end {
            // The check comes first: the reason may no longer be true.
            if await becomesCorrected() { return true }
            answer()
        }
        await Self.pause(Self.grace)
        let closing = Closing(&clients)
        await Self.pause(Self.grace)
        while !closing.hasEnded {
            if await becomesCorrected() { return true }
            answerPrivileged()
        }
        // The check is as late as possible: until this process has ended, a requested start joins this one.
        return await isCorrected?() ?? false
    }

    /// Checks after a pause whether a start would succeed.
    private func becomesCorrected() async -> Bool {
        await Self.pause(Self.interval)
        return await isCorrected?() ?? false
    }

    private static func pause(_ time: Duration) async {
        do {
            try await EventLoop.sleep(for: time)
        } catch {
            // No timer can be created.
            poll(nil, 0, Int32(time / .milliseconds(1)))
        }
    }

    // MARK: Clients

    private mutating func answer() {
        answerPrivileged()
        clients += answer(sockets.control, most: Self.mostClients - clients.count)
    }

    private mutating func answerPrivileged() {
        privileged += answer(sockets.privileged)
        guard privileged.count > Self.mostClients else { return }
        let count = privileged.count - Self.mostClients
        var oldest = Array(privileged.prefix(count))
        privileged.removeFirst(count)
        _ = Closing(&oldest)
    }

    /// Accepts some clients and answers them, whatever they call; returns their connections.
    private func answer(_ listeners: [OwnedDescriptor], most: Int = clientsAtATime) -> [OwnedDescriptor] {
        var clients: [OwnedDescriptor] = []
        for listener in listeners {
            while clients.count < min(most, Self.clientsAtATime) {
                guard let client = try? UnixSocket.accept(listener.rawValue) else { break }
                send(client.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                clients.append(client)
            }
        }
        return clients
    }

    /// Closes connections on another thread.
    ///
    /// If the process ended instead, the kernel would close them. Meanwhile nothing would answer, or notice that the cause has been corrected. If
    /// closing never ends, the service manager ends the start on its timeout.
    private final class Closing: Sendable {
        private let isDone = Atomic(false)

        /// Whether no connection of this process is being closed.
        var hasEnded: Bool { isDone.load(ordering: .acquiring) && !OwnedDescriptor.isClosing }

        /// Takes the connections, because only the thread may have references to them.
        init(_ clients: inout [OwnedDescriptor]) {
            let last = Mutex(clients)
            clients = []
            BlockingThread.start { [self] in
                last.withLock { $0 = [] }
                isDone.store(true, ordering: .releasing)
            }
        }
    }
}
