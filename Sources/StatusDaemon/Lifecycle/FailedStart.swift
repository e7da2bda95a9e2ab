// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import Synchronization
import Systemd
import Varlink

/// Answers the clients for whom the service manager started a daemon that cannot start.
///
/// If they were left to wait, the service manager would start it again at once, and over and over until it gives up on both units.
enum FailedStart {
    /// How long the daemon keeps answering clients after the first one, with and without a check whether the cause has been mended.
    ///
    /// This keeps the number of starts below the units' limits: 100 in 10 s, and systemd's own for a socket, 20 in 2 s. Without a check it is
    /// short, because a start that an administrator requests meanwhile joins the failing one.
    private static let (stay, shortStay) = (Duration.seconds(2), Duration.milliseconds(200))
    /// The pause before each check.
    private static let interval = Duration.milliseconds(50)
    /// How long the last clients have to read their answers.
    private static let grace = Duration.milliseconds(20)
    /// How many clients of each socket are answered after a check, and how many others of each wait for the end; of ordinary ones, these are all: the rest
    /// waits for the next start.
    ///
    /// A user can make each answer take milliseconds, and closing a connection seconds.
    private static let (clientsAtATime, mostClients) = (16, 64)

    /// Reports the reason to all clients that connect.
    ///
    /// - Parameters:
    ///   - reason: why the daemon does not start.
    ///   - isMended: checks whether a start would succeed now; nil if that cannot be checked.
    /// - Returns: whether a start would succeed now. Then the daemon must start: a start requested meanwhile has joined this one.
    @EventLoop
    static func answerClients(_ reason: String, isMended: (@EventLoop () async -> Bool)? = nil) async -> Bool {
        let sockets = InheritedSockets.take()
        let message = VarlinkError.startFailed(reason).reply
        // They stay open until the end: who finds its connection closed while it still writes its call may not read the answer.
        var privileged = answer(sockets.privileged, message)
        var clients = answer(sockets.control, message)
        guard !clients.isEmpty || !privileged.isEmpty else { return false }
        let end = ContinuousClock.now + (isMended == nil ? shortStay : stay)
        while ContinuousClock.now < end {
            // Before they are answered: the reason may hold no more.
            if await becomesMended(isMended) { return giveWay(sockets, clients) }
            answerMore(sockets.privileged, message, &privileged)
            clients += answer(sockets.control, message, most: mostClients - clients.count)
        }
        await pause(grace)
        let closing = Closing(clients)
        clients = []
        await pause(grace)
        while !closing.hasEnded {
            if await becomesMended(isMended) { return giveWay(sockets, []) }
            answerMore(sockets.privileged, message, &privileged)
        }
        return false
    }

    /// Leaves the sockets to the daemon that starts now, and has connections closed beside it.
    private static func giveWay(_ sockets: InheritedSockets, _ clients: [OwnedDescriptor]) -> Bool {
        sockets.giveBack()
        _ = Closing(clients)
        return true
    }

    /// Checks after a pause whether a start would succeed.
    @EventLoop
    private static func becomesMended(_ isMended: (@EventLoop () async -> Bool)?) async -> Bool {
        await pause(interval)
        return await isMended?() ?? false
    }

    @EventLoop
    private static func pause(_ time: Duration) async {
        do {
            try await EventLoop.sleep(for: time)
        } catch {
            // There can be no timer.
            poll(nil, 0, Int32(time / .milliseconds(1)))
        }
    }

    /// Closes connections beside the loop.
    ///
    /// If the process ended instead, the kernel would close them, while nobody answers and nothing notices that the cause has been mended.
    private final class Closing: Sendable {
        private let isDone = Atomic(false)

        /// Whether none of this process's connections is being closed any more.
        var hasEnded: Bool { isDone.load(ordering: .acquiring) && !OwnedDescriptor.isClosing }

        init(_ clients: [OwnedDescriptor]) {
            // The thread has the last references.
            let last = Mutex(clients)
            BlockingThread.start { [self] in
                last.withLock { $0 = [] }
                isDone.store(true, ordering: .releasing)
            }
        }
    }

    /// Answers some more of those whom ordinary users cannot keep waiting, and lets the first ones go.
    private static func answerMore(
        _ listeners: [OwnedDescriptor], _ message: [UInt8], _ clients: inout [OwnedDescriptor]
    ) {
        clients += answer(listeners, message)
        let oldest = clients.prefix(max(0, clients.count - mostClients))
        guard !oldest.isEmpty else { return }
        clients.removeFirst(oldest.count)
        _ = Closing(Array(oldest))
    }

    /// Answers some of those who have come, whatever they have called, and returns their connections.
    private static func answer(
        _ listeners: [OwnedDescriptor], _ message: [UInt8], most: Int = clientsAtATime
    ) -> [OwnedDescriptor] {
        var clients: [OwnedDescriptor] = []
        for listener in listeners {
            while clients.count < min(most, clientsAtATime) {
                guard let client = try? UnixSocket.accept(listener.rawValue) else { break }
                send(client.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                clients.append(client)
            }
        }
        return clients
    }
}
