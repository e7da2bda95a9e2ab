// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import Systemd
import Varlink

/// Finds the daemon again after it went away.
struct DaemonReturn: Sendable {
    /// Where to look.
    private let address: UnixAddress

    /// A way back to the daemon at `address`, which is there now.
    ///
    /// Its control socket may be the service manager's, who would start a daemon that an administrator has stopped. So the socket beside it
    /// is asked, which is there only as long as the daemon is.
    init(to address: UnixAddress) {
        guard case .path(let path) = address, MonitorAddress.fileExists(MonitorAddress.live(path)) else {
            self.address = address
            return
        }
        self.address = .path(MonitorAddress.live(path))
    }

    /// Tries again, more and more rarely, until the daemon is back.
    func wait() async throws -> MonitorClient {
        var pause = Duration.milliseconds(100)
        while true {
            do throws(VarlinkClientError) {
                return try await MonitorClient.connect(to: address)
            } catch {
                guard error.code == .noService || error.code == .timedOut else { throw error }
            }
            try await EventLoop.sleep(for: pause)
            pause = min(pause * 2, .seconds(2))
        }
    }
}

extension VarlinkClientError {
    /// Whether the daemon has gone, or hangs, and may come back.
    var isOfLostDaemon: Bool { code == .closed || code == .timedOut }
}
