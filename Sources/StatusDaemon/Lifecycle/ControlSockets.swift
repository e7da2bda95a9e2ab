// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface

/// The sockets on which the daemon listens: the control socket, and the one next to it.
///
/// Clients that lost the daemon connect to the socket next to it, which does not start the daemon again. The same users
/// may connect to both.
@EventLoop
struct ControlSockets {
    let listeners: [OwnedDescriptor]
    /// The sockets to remove at the end; none if the service manager keeps the control socket.
    private let own: [SocketFile]

    /// - Parameter inherited: the control socket, if the service manager listens on it.
    init(_ directories: DaemonDirectories, inherited: [OwnedDescriptor]) throws {
        let live = MonitorAddress.live(directories.controlSocket)
        let paths = inherited.isEmpty ? [directories.controlSocket, live] : [live]
        let mode = try inherited.first.map { try Self.mode(ofInherited: $0) } ?? 0o666
        listeners = inherited + (try paths.map { try UnixSocket.listen(at: $0, mode: mode) })
        own = inherited.isEmpty ? paths.compactMap { SocketFile(at: $0) } : []
    }

    func remove() { for socket in own { socket.remove() } }

    /// The mode of a socket from the service manager, which determines the users that may connect.
    private static func mode(ofInherited listener: OwnedDescriptor) throws(DaemonError) -> UInt32 {
        do throws(IOError) {
            return try UnixSocket.mode(of: try UnixSocket.path(of: listener))
        } catch {
            throw DaemonError(
                .system,
                """
                \(error.message): the service manager listens on a socket that was removed; run “systemctl restart \
                statusd.socket statusd”
                """
            )
        }
    }
}
