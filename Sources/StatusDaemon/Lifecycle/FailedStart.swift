// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import Systemd
import Varlink

/// Answers the clients for whom the service manager started a daemon that cannot start.
///
/// If they were left to wait, the service manager would start it again at once, and over and over until it gives up on both units.
enum FailedStart {
    /// For how many milliseconds others are answered, too, once one was.
    ///
    /// So there are fewer starts than the units' limits, 100 in 10 s and (systemd's own for a socket) 20 in 2 s. It is short, because
    /// whoever has mended the configuration and starts the daemon meanwhile joins the start that fails.
    private static let stay: Int32 = 200

    static func answerClients(_ reason: String) {
        let listeners = ListeningSockets.inherited.take(named: "varlink")
        let message = VarlinkError.startFailed(reason).reply
        // They stay open until the end: who finds its connection closed while it still writes its call may not read the answer.
        var clients = answer(listeners, message)
        guard !clients.isEmpty else { return }
        let end = ContinuousClock.now + .milliseconds(Int(stay))
        while ContinuousClock.now < end {
            var polled = listeners.map { pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0) }
            poll(&polled, nfds_t(polled.count), stay)
            clients += answer(listeners, message)
        }
        // For the last ones.
        poll(nil, 0, stay / 10)
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
