// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// One datagram, while it is handled.
public struct Datagram: ~Copyable {
    /// What was sent; valid in the handler only.
    public let bytes: UnsafeRawBufferPointer
    /// Who sent it; nil where the kernel does not say.
    public let credentials: PeerCredentials?
    /// The descriptors that came along.
    ///
    /// Each is closed when the last reference to it goes.
    public let descriptors: [OwnedDescriptor]
    /// Whether it was longer than 64 KiB, so that its end is missing.
    public let isTruncated: Bool
}

/// A datagram socket that is read on the loop.
@EventLoop
public final class DatagramSocket {
    /// So that one busy sender does not starve the others.
    private static let datagramsPerWake = 64
    private static let bufferSize = 65_536

    private let descriptor: OwnedDescriptor
    private var source: IOSource?
    private var handler: (@EventLoop (borrowing Datagram) -> Void)?

    /// Reads from a bound socket (``UnixSocket/bindDatagram(at:mode:)``).
    public init(
        adopting descriptor: OwnedDescriptor, handler: @escaping @EventLoop (borrowing Datagram) -> Void
    ) throws(SystemdError) {
        self.descriptor = descriptor
        self.handler = handler
        source = try IOSource(descriptor: descriptor.rawValue, events: .readable) { [weak self] _ in
            self?.receive()
        }
    }

    isolated deinit { source?.cancel() }

    /// Stops reading and lets the handler go.
    ///
    /// The path stays until somebody removes it.
    public func cancel() {
        source?.cancel()
        source = nil
        handler = nil
    }

    private func receive() {
        withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 16) { buffer in
            for _ in 0..<Self.datagramsPerWake {
                guard let handler, receiveOne(buffer, handler) else { return }
            }
        }
    }

    /// Returns whether there may be another one.
    private func receiveOne(
        _ buffer: UnsafeMutableRawBufferPointer, _ handler: @EventLoop (borrowing Datagram) -> Void
    ) -> Bool {
        var received = statusd_received()
        let count = statusd_receive(descriptor.rawValue, buffer.baseAddress, buffer.count, &received)
        guard count >= 0 else { return false }
        let sender = received.credentials
        handler(
            Datagram(
                bytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]),
                credentials: sender.pid == 0
                    ? nil : PeerCredentials(processID: sender.pid, userID: sender.uid, groupID: sender.gid),
                descriptors: Self.adopt(&received),
                isTruncated: received.flags & Int32(MSG_TRUNC) != 0))
        return true
    }

    private static func adopt(_ received: inout statusd_received) -> [OwnedDescriptor] {
        guard received.descriptor_count > 0 else { return [] }
        let count = Int(received.descriptor_count)
        return withUnsafeBytes(of: &received.descriptors) { bytes in
            bytes.bindMemory(to: Int32.self).prefix(count).map { OwnedDescriptor(adopting: $0) }
        }
    }
}
