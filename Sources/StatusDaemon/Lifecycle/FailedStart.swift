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
    /// The pause before each check, in milliseconds.
    private static let interval: Int32 = 50
    /// How long the last clients have to read their answers, in milliseconds.
    private static let grace: Int32 = 20
    /// How many clients of each socket are answered after a check, and how many ordinary ones at all; others wait for the next start.
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
        var clients = answer(sockets.control, message)
        var privileged = answer(sockets.privileged, message)
        guard !clients.isEmpty || !privileged.isEmpty else { return false }
        let end = ContinuousClock.now + (isMended == nil ? shortStay : stay)
        while ContinuousClock.now < end {
            // Before they are answered: the reason may hold no more.
            if await becomesMended(isMended) {
                sockets.giveBack()
                _ = Closing(&clients)
                return true
            }
            if clients.count < mostClients { clients += answer(sockets.control, message) }
            privileged = Array((privileged + answer(sockets.privileged, message)).suffix(mostClients))
        }
        poll(nil, 0, grace)
        let closing = Closing(&clients)
        poll(nil, 0, grace)
        while !closing.hasEnded {
            if await becomesMended(isMended) {
                sockets.giveBack()
                return true
            }
            privileged = Array((privileged + answer(sockets.privileged, message)).suffix(mostClients))
        }
        return false
    }

    /// Checks after a pause whether a start would succeed.
    @EventLoop
    private static func becomesMended(_ isMended: (@EventLoop () async -> Bool)?) async -> Bool {
        poll(nil, 0, interval)
        return await isMended?() ?? false
    }

    /// Closes connections on another thread.
    ///
    /// If the process ended instead, the kernel would close them, while nobody answers and nothing notices that the cause has been mended.
    private final class Closing: Sendable {
        private let isDone = Atomic(false)

        var hasEnded: Bool { isDone.load(ordering: .acquiring) }

        init(_ clients: inout [OwnedDescriptor]) {
            // The thread has the last references.
            let last = Mutex(clients)
            clients = []
            BlockingThread.start { [self] in
                last.withLock { $0 = [] }
                isDone.store(true, ordering: .releasing)
            }
        }
    }

    /// Answers some of those who have come, whatever they have called, and returns their connections.
    private static func answer(_ listeners: [OwnedDescriptor], _ message: [UInt8]) -> [OwnedDescriptor] {
        var clients: [OwnedDescriptor] = []
        for listener in listeners {
            for _ in 0..<clientsAtATime {
                guard let client = try? UnixSocket.accept(listener.rawValue) else { break }
                send(client.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                clients.append(client)
            }
        }
        return clients
    }
}
