// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import Systemd
import Varlink

/// Answers the clients for whom the service manager started a daemon that cannot start.
///
/// If they were left to wait, the service manager would start it again at once, and over and over until it gives up on both units.
enum FailedStart {
    private static let name = "varlink"

    /// For how long others are answered, too, once one was.
    ///
    /// So there are fewer starts than the units' limits, 100 in 10 s and (systemd's own for a socket) 20 in 2 s. Where nobody looks whether a start would
    /// succeed by now, it is short, because whoever starts the daemon meanwhile joins the start that fails.
    private static let (stay, shortStay) = (Duration.seconds(2), Duration.milliseconds(200))
    /// How often somebody looks, in milliseconds.
    private static let interval: Int32 = 200

    /// Tells clients the reason, if there are any.
    ///
    /// - Parameters:
    ///   - reason: why the daemon does not start.
    ///   - isMended: whether it would by now; nil if nobody can tell.
    /// - Returns: whether it would by now, so that it should be started: whoever has mended it and asked for a start has joined this one.
    @EventLoop
    static func answerClients(_ reason: String, isMended: (@EventLoop () async -> Bool)? = nil) async -> Bool {
        let listeners = ListeningSockets.inherited.take(named: name)
        let message = VarlinkError.startFailed(reason).reply
        // They stay open until the end: who finds its connection closed while it still writes its call may not read the answer.
        var clients = answer(listeners, message)
        guard !clients.isEmpty else { return false }
        let end = ContinuousClock.now + (isMended == nil ? shortStay : stay)
        while ContinuousClock.now < end {
            let next = ContinuousClock.now + .milliseconds(Int(interval))
            while ContinuousClock.now < next {
                var polled = listeners.map { pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0) }
                poll(&polled, nfds_t(polled.count), interval)
                let answered = answer(listeners, message)
                // Somebody has come and cannot be answered, if there are no descriptors.
                if answered.isEmpty { poll(nil, 0, interval / 10) }
                clients += answered
            }
            if let isMended, await isMended() {
                poll(nil, 0, interval / 10)
                ListeningSockets.inherited.giveBack(listeners, named: name)
                return true
            }
        }
        // For the last ones.
        poll(nil, 0, interval / 10)
        return false
    }

    /// Answers whoever has come, whatever they have called, and returns their connections.
    private static func answer(_ listeners: [OwnedDescriptor], _ message: [UInt8]) -> [OwnedDescriptor] {
        var clients: [OwnedDescriptor] = []
        for listener in listeners {
            while let client = try? UnixSocket.accept(listener.rawValue) {
                send(client.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                clients.append(client)
            }
        }
        return clients
    }
}
