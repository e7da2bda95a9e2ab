// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// One datagram, while it is handled.
public struct Datagram: ~Copyable {
    /// What was sent; valid in the handler only.
    public let bytes: UnsafeRawBufferPointer
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
    /// More than the kernel keeps for a socket (net.unix.max_dgram_qlen), unless it is sent more meanwhile.
    private static let batchesAtEnd = 64

    private let descriptor: OwnedDescriptor
    /// How many datagrams are received at once: fewer if they take more than their share of a turn.
    private var batchSize = DatagramBatch.capacity
    private var source: IOSource?
    private var handler: (@EventLoop (borrowing Datagram) -> Void)?

    /// Reads from a bound socket (``UnixSocket/bindDatagram(at:for:)``).
    public init(
        adopting descriptor: OwnedDescriptor, handler: @escaping @EventLoop (borrowing Datagram) -> Void
    ) throws(SystemdError) {
        self.descriptor = descriptor
        self.handler = handler
        source = try IOSource(descriptor: descriptor.rawValue, events: .readable) { [unowned self] _ in
            receive()
        }
    }

    isolated deinit { source?.cancel() }

    /// Reads what was sent before, then stops and lets the handler go.
    ///
    /// The path stays until somebody removes it.
    public func cancel() {
        for _ in 0..<Self.batchesAtEnd { if !receiveBatch() { break } }
        source?.cancel()
        source = nil
        handler = nil
    }

    /// Receives what there is, as long as this socket's share of the turn lasts.
    private func receive() {
        let share = TurnShare()
        while receiveBatch() {
            guard share.isUsedUp else { continue }
            batchSize = max(1, batchSize / 4)
            return
        }
        batchSize = min(batchSize * 2, DatagramBatch.capacity)
    }

    /// Receives some datagrams; returns whether there may be more.
    private func receiveBatch() -> Bool {
        let size = batchSize
        let count = DatagramBatch.shared.receive(size, from: descriptor.rawValue)
        for index in 0..<count { DatagramBatch.shared.withDatagram(index) { handler?($0) } }
        return count == size
    }
}
