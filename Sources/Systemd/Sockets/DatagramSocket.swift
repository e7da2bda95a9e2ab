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
    /// So that one busy sender does not starve the others.
    private static let batchesPerWake = 4
    /// More than the kernel keeps for a socket (net.unix.max_dgram_qlen), unless it is sent more meanwhile.
    private static let batchesAtEnd = 64

    private let descriptor: OwnedDescriptor
    private var source: IOSource?
    private var handler: (@EventLoop (borrowing Datagram) -> Void)?

    /// Reads from a bound socket (``UnixSocket/bindDatagram(at:for:)``).
    public init(
        adopting descriptor: OwnedDescriptor, handler: @escaping @EventLoop (borrowing Datagram) -> Void
    ) throws(SystemdError) {
        self.descriptor = descriptor
        self.handler = handler
        source = try IOSource(descriptor: descriptor.rawValue, events: .readable) { [unowned self] _ in
            receive(batches: Self.batchesPerWake)
        }
    }

    isolated deinit { source?.cancel() }

    /// Reads what was sent before, then stops and lets the handler go.
    ///
    /// The path stays until somebody removes it.
    public func cancel() {
        receive(batches: Self.batchesAtEnd)
        source?.cancel()
        source = nil
        handler = nil
    }

    private func receive(batches: Int) {
        for _ in 0..<batches {
            let count = DatagramBatch.shared.receive(from: descriptor.rawValue)
            for index in 0..<count { DatagramBatch.shared.withDatagram(index) { handler?($0) } }
            if count < DatagramBatch.capacity { return }
        }
    }
}
