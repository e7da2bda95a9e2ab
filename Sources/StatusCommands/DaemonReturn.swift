// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import Systemd
import Varlink

/// Finds the daemon again after it went away.
struct DaemonReturn: Sendable {
    private let address: UnixAddress

    /// A way back to the daemon at `address`.
    init(to address: UnixAddress) { self.address = address }

    /// Tries again, at growing intervals, until the daemon is back.
    ///
    /// - Throws: the last error if the daemon is not back within `limit`; without a limit it tries until the task is cancelled.
    func wait(within limit: Duration? = nil) async throws -> MonitorClient {
        let deadline = limit.map { ContinuousClock.now + $0 }
        var pause = Duration.milliseconds(100)
        while true {
            do throws(VarlinkClientError) {
                return try await MonitorClient.connect(to: place)
            } catch {
                guard error.code == .noService || error.code == .timedOut else { throw error }
                if let deadline, ContinuousClock.now >= deadline { throw error }
            }
            try await EventLoop.sleep(for: pause)
            pause = min(pause * 2, .seconds(2))
        }
    }

    /// Where to look now.
    ///
    /// The control socket may be the service manager's, who would start a daemon that an administrator has stopped. The socket beside it
    /// answers only while the daemon runs, and stays when such a daemon ends.
    private var place: UnixAddress {
        guard case .path(let path) = address, MonitorAddress.fileExists(MonitorAddress.live(path)) else {
            return address
        }
        return .path(MonitorAddress.live(path))
    }
}

extension VarlinkError {
    /// Whether the daemon does not know the server, or not yet.
    var isNoSuchServer: Bool { name == MonitorInterface.qualified("NoSuchServer") }
}

extension VarlinkClientError {
    /// Whether the daemon has gone, or hangs, and may come back.
    var isOfLostDaemon: Bool { code == .closed || code == .timedOut }
}
