// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An IPv4 or IPv6 address with a port.
package struct InternetAddress: Sendable {
    private let bytes: [UInt8]

    /// `AF_INET` or `AF_INET6`.
    package let family: Int32

    /// Copies a `sockaddr` of any family.
    package init(copying address: UnsafeRawBufferPointer) {
        family = Int32(address.load(as: sa_family_t.self))
        bytes = Array(address)
    }

    /// The numeric address without the port, such as `192.0.2.1` or `fe80::1%eth0`.
    package var text: String? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let failure = withSocketAddress {
            getnameinfo($0, $1, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        }
        guard failure == 0 else { return nil }
        return String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Calls `body` with the address as a `sockaddr`.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
        }
    }

    /// Connects a socket to the address; returns the errno, or 0.
    package func connect(_ socket: OwnedDescriptor) -> Int32 {
        withSocketAddress { Glibc.connect(socket.rawValue, $0, $1) == 0 ? 0 : errno }
    }

    /// The errno with which this host cannot reach this address, because it has no route to it or no source address.
    ///
    /// It is nil if this host can, or if there is no free port or descriptor to find out. Without a source address,
    /// connect(2) fails with the same errno as without a free port (tcp(7), `EADDRNOTAVAIL`). Connecting a datagram
    /// socket sends nothing.
    package var sourceError: Int32? {
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno == EAFNOSUPPORT ? errno : nil }
        defer { close(descriptor) }
        return withSocketAddress { Glibc.connect(descriptor, $0, $1) } == 0 || errno == EAGAIN ? nil : errno
    }

    /// Whether this host has a free port for a stream socket.
    package var hasFreePort: Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return any.withSocketAddress { bind(descriptor, $0, $1) } == 0 || errno != EADDRINUSE
    }

    /// The wildcard address of the same family, and any port.
    private var any: InternetAddress {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(family)
        return withUnsafeBytes(of: &storage) {
            InternetAddress(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(bytes.count)))
        }
    }
}
