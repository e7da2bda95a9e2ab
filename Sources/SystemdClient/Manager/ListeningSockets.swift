// SPDX-License-Identifier: Apache-2.0

import CSystemd
public import EventLoopIO
import Glibc
import Synchronization

@_exported public import class EventLoopIO.OwnedDescriptor

/// Listening sockets inherited from another process, by name.
public final class ListeningSockets: Sendable {
    /// The sockets from the service manager (sd_listen_fds_with_names(3)).
    ///
    /// The first use unsets the environment variables that describe them, so that no child process uses them.
    public static let inherited = ListeningSockets(receive())

    /// A socket with its `FileDescriptorName=`.
    typealias Named = (name: String, descriptor: OwnedDescriptor)

    private let sockets: Mutex<[Named]>

    init(_ sockets: [Named]) { self.sockets = Mutex(sockets) }

    /// Takes the sockets with this name; each is returned once.
    ///
    /// They are made non-blocking: systemd passes blocking ones, and accepting on the loop must not wait.
    public func take(named name: String) -> [OwnedDescriptor] {
        sockets.withLock { sockets in
            let taken = sockets.filter { $0.name == name }
            sockets.removeAll { $0.name == name }
            for (_, socket) in taken {
                _ = fcntl(socket.rawValue, F_SETFL, fcntl(socket.rawValue, F_GETFL) | O_NONBLOCK)
            }
            return taken.map(\.descriptor)
        }
    }

    /// Returns sockets that were taken, so that they can be taken again.
    public func giveBack(_ taken: [OwnedDescriptor], named name: String) {
        sockets.withLock { $0 += taken.map { (name, $0) } }
    }

    private static func receive() -> [Named] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0, let names else { return [] }
        defer { free(names) }
        return (0..<Int(count)).map { index in
            defer { free(names[index]) }
            let descriptor = OwnedDescriptor(adopting: SD_LISTEN_FDS_START + Int32(index))
            return (names[index].map { String(cString: $0) } ?? "unknown", descriptor)
        }
    }
}
