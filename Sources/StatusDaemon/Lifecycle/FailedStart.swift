// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import Systemd
import Varlink

/// Answers the clients for whom the service manager started a daemon that cannot start.
///
/// If they were left to wait, the service manager would start it again at once, and over and over until it gives up on both units.
enum FailedStart {
    static func answerClients(_ reason: String) {
        let error = VarlinkError.startFailed(reason)
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("error", error.name)
            writer.member("parameters", raw: error.parameters)
        }
        let message = writer.bytes + [0]
        for listener in ListeningSockets.take(named: "varlink") {
            while let client = try? UnixSocket.accept(listener.rawValue) {
                // Whatever it has called, this is the answer.
                send(client.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
        }
    }
}
