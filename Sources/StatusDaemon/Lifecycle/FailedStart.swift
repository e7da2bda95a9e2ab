// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import SystemdClient
import Varlink

/// Answers the clients that made the service manager start a daemon that cannot start.
///
/// Without an answer, they would keep waiting, and the service manager would start the daemon again and again until it
/// gives up on both units.
@EventLoop
struct FailedStart {
    /// How long the daemon answers clients after the first one, if it can check whether the cause has been corrected.
    ///
    /// This keeps the number of starts below the units' limits: 100 in 10 s, and systemd's own for a socket, 20 in 2 s.
    private static let stay = Duration.seconds(2)
    /// The same without a check.
    ///
    /// It is shorter, because a start that an administrator requests meanwhile joins the failing one.
    private static let shortStay = Duration.milliseconds(200)
    private static let interval = Duration.milliseconds(50)
    /// The time for the last clients to read their answers.
    private static let grace = Duration.milliseconds(40)
    /// How many clients of each socket are answered after each check.
    private static let clientsAtATime = 64
    /// The maximum number of open connections; beyond it, the oldest are closed.
    private static let mostClients = 256

    /// Checks whether a start would succeed now.
    typealias Check = @EventLoop () async -> Bool

    private let listeners = ListeningSockets.inherited.takeControl()
    private let message: [UInt8]
    /// Checks whether a start would succeed now; nil if that cannot be checked.
    private let isCorrected: Check?
    /// The clients that were answered.
    ///
    /// Their connections stay open for a while: a client that is still writing its call when the connection is closed
    /// may not read the answer.
    private var clients: [OwnedDescriptor] = []

    /// Reports the reason to all clients that connect.
    ///
    /// - Parameter isCorrected: checks whether a start would succeed now; nil if that cannot be checked.
    /// - Returns: whether a start would succeed now. Then the daemon must start, because a start that was requested
    ///   meanwhile has joined this one.
    static func answerClients(_ reason: String, isCorrected: Check? = nil) async -> Bool {
        var start = FailedStart(
            message: MonitorError.startFailed(reason: reason).reply?.reply ?? [], isCorrected: isCorrected)
        defer { for client in start.clients { client.closeConnection() } }
        guard await start.answerUntilCorrected() else { return false }
        ListeningSockets.inherited.giveBackControl(start.listeners)
        return true
    }

    private init(message: [UInt8], isCorrected: Check?) {
        self.message = message
        self.isCorrected = isCorrected
    }

    /// Answers for a while; returns whether a start would succeed now.
    private mutating func answerUntilCorrected() async -> Bool {
        answer()
        guard !clients.isEmpty else { return false }
        let end = ContinuousClock.now + (isCorrected == nil ? Self.shortStay : Self.stay)
        while ContinuousClock.now < end {
            // This fails only without memory for a timer; then the answers come without pauses.
            try? await EventLoop.sleep(for: Self.interval)
            // The check comes first: the reason may no longer be true.
            if await isCorrected?() == true { return true }
            answer()
        }
        try? await EventLoop.sleep(for: Self.grace)
        // Check as late as possible: until this process has ended, a requested start joins this one.
        return await isCorrected?() ?? false
    }

    /// Accepts some clients and answers them, whatever they call.
    private mutating func answer() {
        for listener in listeners {
            for _ in 0..<Self.clientsAtATime {
                guard let client = try? UnixSocket.accept(listener.rawValue) else { break }
                send(client.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                clients.append(client)
            }
        }
        while clients.count > Self.mostClients { clients.removeFirst().closeConnection() }
    }
}

extension ListeningSockets {
    private static let controlName = "varlink"

    /// Takes the control sockets that the service manager has opened, which is possible once.
    func takeControl() -> [OwnedDescriptor] { take(named: Self.controlName) }

    /// Returns the control sockets, so that they can be taken again.
    func giveBackControl(_ listeners: [OwnedDescriptor]) { giveBack(listeners, named: Self.controlName) }
}
