// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import Synchronization
import Varlink

/// Answers the clients for whom the service manager started a daemon that cannot start.
///
/// If they were left to wait, the service manager would start it again at once, and over and over until it gives up on both units.
@EventLoop
struct FailedStart {
    /// How long the daemon keeps answering clients after the first one, with and without a check whether the cause has been mended.
    ///
    /// This keeps the number of starts below the units' limits: 100 in 10 s, and systemd's own for a socket, 20 in 2 s. Without a check it is
    /// short, because a start that an administrator requests meanwhile joins the failing one.
    private static let (stay, shortStay) = (Duration.seconds(2), Duration.milliseconds(200))
    /// The pause before each check.
    private static let interval = Duration.milliseconds(50)
    /// How long the last clients have to read their answers.
    private static let grace = Duration.milliseconds(20)
    /// How many clients of each socket are answered after a check, and how many of each have their connections left open.
    ///
    /// A user can make each answer take milliseconds, and closing a connection seconds. So if ordinary ones have so many, others wait for the next start.
    private static let (clientsAtATime, mostClients) = (16, 64)

    /// Checks whether a start would succeed now.
    typealias Check = @EventLoop () async -> Bool

    private let sockets = InheritedSockets.take()
    private let message: [UInt8]
    /// Nil if that cannot be checked.
    private let isMended: Check?
    /// Those that were answered.
    ///
    /// They stay open until the end: who finds its connection closed while it still writes its call may not read the answer.
    private var clients: [OwnedDescriptor] = []
    /// Those among them whom ordinary users cannot keep waiting.
    private var privileged: [OwnedDescriptor] = []

    /// Reports the reason to all clients that connect.
    ///
    /// - Parameters:
    ///   - reason: why the daemon does not start.
    ///   - isMended: checks whether a start would succeed now; nil if that cannot be checked.
    /// - Returns: whether a start would succeed now. Then the daemon must start: a start requested meanwhile has joined this one.
    static func answerClients(_ reason: String, isMended: Check? = nil) async -> Bool {
        var start = FailedStart(
            message: MonitorError.startFailed(reason: reason).reply?.reply ?? [], isMended: isMended)
        guard await start.answerUntilMended() else { return false }
        start.sockets.giveBack()
        _ = Closing(&start.clients)
        _ = Closing(&start.privileged)
        return true
    }

    private init(message: [UInt8], isMended: Check?) {
        self.message = message
        self.isMended = isMended
    }

    /// Answers for a while, and until all connections of ordinary users are closed; returns whether a start would succeed now.
    private mutating func answerUntilMended() async -> Bool {
        answer()
        guard !clients.isEmpty || !privileged.isEmpty else { return false }
        let end = ContinuousClock.now + (isMended == nil ? Self.shortStay : Self.stay)
        while ContinuousClock.now < end {
            // Before they are answered: the reason may hold no more.
            if await becomesMended() { return true }
            answer()
        }
        await Self.pause(Self.grace)
        let closing = Closing(&clients)
        await Self.pause(Self.grace)
        while !closing.hasEnded {
            if await becomesMended() { return true }
            answerPrivileged()
        }
        // As late as can be: until this process has ended, a start that is requested joins this one.
        return await isMended?() ?? false
    }

    /// Checks after a pause whether a start would succeed.
    private func becomesMended() async -> Bool {
        await Self.pause(Self.interval)
        return await isMended?() ?? false
    }

    private static func pause(_ time: Duration) async {
        do {
            try await EventLoop.sleep(for: time)
        } catch {
            // There can be no timer.
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

    /// Answers some of those who have come, whatever they have called, and returns their connections.
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

    /// Closes connections beside the loop.
    ///
    /// If the process ended instead, the kernel would close them, while nobody answers and nothing notices that the cause has been mended. If that never ends, the
    /// service manager ends the start when its time is over.
    private final class Closing: Sendable {
        private let isDone = Atomic(false)

        /// Whether none of this process's connections is being closed any more.
        var hasEnded: Bool { isDone.load(ordering: .acquiring) && !OwnedDescriptor.isClosing }

        /// Takes the connections: only the thread may have references to them.
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
