// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An address of the Internet with its port.
public struct InternetAddress: Sendable {
    private let bytes: [UInt8]

    /// `AF_INET` or `AF_INET6`.
    let family: Int32

    /// Copies an address as the kernel takes it, a `sockaddr` of any family.
    public init(copying address: UnsafeRawBufferPointer) {
        family = Int32(address.load(as: sa_family_t.self))
        bytes = Array(address)
    }

    /// Calls `body` with the address as the kernel takes it.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
        }
    }

    /// Whether this host has an address from which to go there; also where that is not known, because it has no free port for datagrams.
    ///
    /// Without one, connect(2) has the same errno as without a free port (tcp(7), `EADDRNOTAVAIL`). A connected datagram socket sends nothing.
    public var hasSource: Bool {
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        defer { close(descriptor) }
        return withSocketAddress { connect(descriptor, $0, $1) } == 0 || errno == EAGAIN
    }

    /// Whether a stream socket of this host gets a port of its own.
    public var hasFreePort: Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return any.withSocketAddress { bind(descriptor, $0, $1) } == 0 || errno != EADDRINUSE
    }

    /// Any address of the same family, and any port.
    private var any: InternetAddress {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(family)
        return withUnsafeBytes(of: &storage) {
            InternetAddress(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(bytes.count)))
        }
    }

    /// The addresses that a host's name stands for, in the order in which they are to be tried.
    ///
    /// A number is read at once. A name may take as long as the system's resolver likes: that cannot be cancelled.
    ///
    /// - Throws: ``FailedLookUp`` if there is none, or that cannot be found out.
    public static func lookUp(_ host: String, port: UInt16) async throws -> [InternetAddress] {
        if let numeric = try? resolve(host, port: port, flags: AI_NUMERICHOST) { return numeric }
        return try await resolverThreads.run { try resolve(host, port: port, flags: 0) }
    }

    /// Whether so many names are being looked up that the next one has to wait.
    @EventLoop public static var hasManyLookUps: Bool { resolverThreads.isFull }

    @EventLoop private static let resolverThreads = BlockingThreads(limit: 128)

    private static func resolve(_ host: String, port: UInt16, flags: Int32) throws -> [InternetAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &hints, &list)
        defer { freeaddrinfo(list) }
        guard failure == 0 else { throw FailedLookUp(host: host, failure) }
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap {
            $0.map {
                InternetAddress(
                    copying: UnsafeRawBufferPointer(start: $0.pointee.ai_addr, count: Int($0.pointee.ai_addrlen)))
            }
        }
    }
}

/// A host's address is not known.
public struct FailedLookUp: Error, Sendable, CustomStringConvertible {
    /// What to say of it, as one phrase.
    public let description: String

    /// `EAI_NODATA`, which the module Glibc leaves out: the name has no address.
    private static let noData: Int32 = -5

    /// The resolver has said this, a number of getaddrinfo(3).
    init(host: String, _ failure: Int32) {
        let reason = String(cString: gai_strerror(failure))
        let doesNotExist = failure == EAI_NONAME || failure == Self.noData
        description = doesNotExist ? "host not found: \(host)" : "cannot look up host \(host): \(reason)"
    }

    /// The resolver has said nothing in time.
    public init(host: String, unansweredFor time: String) {
        description = "cannot look up host \(host): no answer within \(time)"
    }
}
