// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A socket that sends ICMP echo requests to one address, and needs no capability (`ping_group_range` in icmp(7)).
///
/// The kernel chooses the identifier, and delivers only replies to it, but from any address.
package struct EchoSocket: Sendable {
    /// What arrived for an echo request.
    package enum Arrival: Sendable {
        /// The reply, with the payload of the request.
        case reply(sequence: UInt16)
        /// The network reports that the request was not delivered.
        case failed(sequence: UInt16, IOError)
    }

    private let descriptor: OwnedDescriptor
    private let isIPv6: Bool
    /// The address that replies come from.
    private let peer: [UInt8]
    /// Random bytes in each request, which a sender that does not see the requests cannot know.
    private let secret = (0..<16).map { _ in UInt8.random(in: 0...255) }

    /// Types of messages (RFC 792, RFC 4443).
    private static let (echo, echo6, reply, reply6): (UInt8, UInt8, UInt8, UInt8) = (8, 128, 0, 129)
    private static let headerBytes = 8
    /// The size of the payload, the same as of ping(8).
    private static let payloadBytes = 56

    /// Opens a socket for one address.
    ///
    /// - Throws: an ``IOError`` with the code `permissionDenied` only if this process may not send echo requests.
    package init(to address: InternetAddress) throws(IOError) {
        isIPv6 = address.family == AF_INET6
        descriptor = try .makeSocket(
            address.family, Int32(SOCK_DGRAM.rawValue),
            protocol: Int32(isIPv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
        if isIPv6 {
            descriptor.turnOn(IPV6_RECVERR, of: Int32(IPPROTO_IPV6))
        } else {
            descriptor.turnOn(IP_RECVERR, of: Int32(IPPROTO_IP))
        }
        let failure = address.connect(descriptor)
        guard failure == 0 else { throw Self.error(failure) }
        // Not getpeername(2), which fails for an address without a port.
        peer = address.withSocketAddress { address, _ in Self.bytes(of: address) }
    }

    /// The bytes of an address, without the port, which has no meaning here, and the zone.
    private static func bytes(of address: UnsafePointer<sockaddr>) -> [UInt8] {
        let range = Int32(address.pointee.sa_family) == AF_INET6 ? 8..<24 : 4..<8
        return Array(UnsafeRawBufferPointer(start: address, count: range.upperBound)[range])
    }

    /// Receives a message without waiting; returns what recvfrom(2) does, and the sender.
    private func receive(into room: inout [UInt8]) -> (count: Int, sender: [UInt8]) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let count = recvfrom(descriptor.rawValue, &room, room.count, Int32(MSG_DONTWAIT), $0, &length)
                return (count, Self.bytes(of: $0))
            }
        }
    }

    /// Sends an echo request.
    package func send(sequence: UInt16) throws(IOError) {
        // The kernel fills in the checksum and the identifier.
        var bytes = [isIPv6 ? Self.echo6 : Self.echo, 0, 0, 0, 0, 0, UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
        bytes += secret + [UInt8](repeating: 0, count: Self.payloadBytes - secret.count)
        // A report of another request may make it fail once.
        for attempt in 1...Self.attempts {
            if Glibc.send(descriptor.rawValue, bytes, bytes.count, Int32(MSG_NOSIGNAL)) >= 0 { return }
            if attempt == Self.attempts { throw Self.error(errno) }
        }
    }

    private static let attempts = 3

    /// Waits until something may have arrived; false on a timeout or if the task is cancelled.
    @EventLoop
    package func wait(within limit: Duration) async throws(IOError) -> Bool {
        try await IOSource.wait(for: .readable, of: descriptor, within: limit)
    }

    /// Takes what has arrived, without waiting; bounded, because anybody may send to this host.
    package func receive() -> [Arrival] {
        var arrivals: [Arrival] = []
        var room = [UInt8](repeating: 0, count: 256)
        for _ in 0..<Self.maximumArrivals {
            // A report also makes one receive(2) fail, with its errno, and the socket ready until it is taken.
            if let report = descriptor.receiveReport(into: &room) {
                guard report.length >= Self.headerBytes, !Self.hints.contains(report.number) else { continue }
                arrivals.append(.failed(sequence: Self.sequence(in: room), Self.error(report.number)))
                continue
            }
            let (count, sender) = receive(into: &room)
            if count < 0, errno == EAGAIN { break }
            if count >= 0, sender == peer, isReply(room.prefix(count)) {
                arrivals.append(.reply(sequence: Self.sequence(in: room)))
            }
        }
        return arrivals
    }

    private static let maximumArrivals = 64
    /// What routers say of packets that they nevertheless deliver, or that are sent again.
    private static let hints: Set = [EREMOTEIO, EMSGSIZE]

    private func isReply(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.count == Self.headerBytes + Self.payloadBytes && bytes.first == (isIPv6 ? Self.reply6 : Self.reply)
            && bytes.dropFirst(Self.headerBytes).prefix(secret.count).elementsEqual(secret)
    }

    private static func sequence(in bytes: [UInt8]) -> UInt16 { UInt16(bytes[6]) << 8 | UInt16(bytes[7]) }

    /// A failure of the network, such as a firewall's refusal, which is not a lack of permission.
    private static func error(_ number: Int32) -> IOError {
        // All identifiers are in use.
        if number == EAGAIN { return IOError(.exhausted, "cannot ping: too many programs ping", errno: number) }
        let error = IOError(errno: number, "cannot ping")
        return error.code == .exhausted && number != EADDRNOTAVAIL
            ? error : IOError(.systemCall, error.message, errno: number)
    }
}
