// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The address of a Unix socket, as Varlink and systemd write it: `unix:/path`, `/path`, `unix:@abstract`.
public enum UnixAddress: Sendable, Hashable, CustomStringConvertible {
    /// A path in the file system.
    case path(String)
    /// A name in the abstract namespace, without the `@`.
    case abstract(String)

    /// Parses an address.
    ///
    /// - Throws: ``IOError/Code/invalidAddress``, or ``IOError/Code/pathTooLong`` if it has more than 107 bytes.
    public init(parsing text: String) throws(IOError) {
        let address = text.hasPrefix("unix:") ? text.dropFirst(5) : text[...]
        guard let first = address.first, !address.utf8.contains(0) else {
            throw IOError(.invalidAddress, "invalid address “\(text)”: must be /path, unix:/path or unix:@name")
        }
        switch first {
        case "@" where address.count > 1: self = .abstract(String(address.dropFirst()))
        case "/": self = .path(String(address))
        default: throw IOError(.invalidAddress, "invalid address “\(text)”: must be /path, unix:/path or unix:@name")
        }
        try withSocketAddress { _, _ in }
    }

    public var description: String {
        switch self {
        case .path(let path): "unix:\(path)"
        case .abstract(let name): "unix:@\(name)"
        }
    }

    /// Calls `body` with the address as a `sockaddr`.
    func withSocketAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws(IOError) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes: [UInt8] =
            switch self {
            case .path(let path): Array(path.utf8) + [0]
            case .abstract(let name): [0] + Array(name.utf8)
            }
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw IOError(
                .pathTooLong,
                "\(self): the path of a socket may have at most 107 bytes; use a directory with a shorter path")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

/// The file of a socket that this process has bound.
package struct SocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let number: ino_t

    /// Remembers the file that is at `path` now; nil if there is none.
    package init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        (self.path, device, number) = (path, status.st_dev, status.st_ino)
    }

    /// Removes the file, unless another process, such as the service manager, has replaced it.
    package func remove() {
        guard let now = SocketFile(at: path), now.device == device, now.number == number else { return }
        unlink(path)
    }
}
