// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Synchronization

/// The sockets that the service manager opened for this process (sd_listen_fds_with_names(3)).
public enum ListeningSockets {
    private static let inherited = Mutex<[(name: String, descriptor: Int32)]?>(nil)

    /// Takes the sockets of this name, the `FileDescriptorName=` of the socket unit.
    ///
    /// Each is handed out once.
    ///
    /// The environment that tells of them is unset at the first call, so that no child takes them for its own.
    public static func take(named name: String) -> [OwnedDescriptor] {
        inherited.withLock { sockets in
            let all = sockets ?? receive()
            sockets = all.filter { $0.name != name }
            return all.filter { $0.name == name }.map { OwnedDescriptor(adopting: $0.descriptor) }
        }
    }

    private static func receive() -> [(name: String, descriptor: Int32)] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0, let names else { return [] }
        defer { free(names) }
        return (0..<Int(count)).map { index in
            defer { free(names[index]) }
            let descriptor = SD_LISTEN_FDS_START + Int32(index)
            // systemd hands them over blocking; whoever accepts on the loop must never wait.
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            return (names[index].map { String(cString: $0) } ?? "unknown", descriptor)
        }
    }
}
