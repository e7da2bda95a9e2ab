// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// Receives several datagrams with one system call, in memory that all sockets of the loop share.
///
/// The memory is a megabyte, of which the system gives only the pages that datagrams have filled.
@EventLoop
final class DatagramBatch {
    static let shared = DatagramBatch()

    /// The most datagrams that one system call receives: so few that the descriptors that come along are a sixteenth of those that this process
    /// may have.
    nonisolated static let capacity = max(
        1, min(Int(STATUSD_BATCH), OwnedDescriptor.limit / 16 / ForeignDescriptors.perDatagram))
    private static let datagramSize = 65_536

    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity * datagramSize, alignment: 16)
    private let batch = UnsafeMutablePointer<statusd_batch>.allocate(capacity: 1)
    private let received = UnsafeMutablePointer<statusd_received>.allocate(capacity: 1)

    private init() { statusd_batch_prepare(batch, buffer, Self.datagramSize) }

    /// Receives what there is, but no more than `most` datagrams, without waiting; returns how many.
    func receive(_ most: Int, from descriptor: Int32) -> Int {
        max(0, Int(statusd_batch_receive(descriptor, batch, Int32(most))))
    }

    /// Calls `body` with a datagram of the last batch; once for each, since its descriptors, which are some of `foreign` meanwhile, are closed
    /// behind it.
    func withDatagram(_ index: Int, foreign: ForeignDescriptors, _ body: (borrowing Datagram) -> Void) {
        statusd_batch_take(batch, Int32(index), received)
        let bytes = UnsafeRawBufferPointer(
            start: buffer + index * Self.datagramSize, count: min(received.pointee.length, Self.datagramSize))
        body(
            Datagram(
                bytes: bytes, descriptors: takeDescriptors(as: foreign),
                isTruncated: received.pointee.flags & Int32(MSG_TRUNC) != 0))
    }

    private func takeDescriptors(as foreign: ForeignDescriptors) -> [OwnedDescriptor] {
        let count = Int(received.pointee.descriptor_count)
        guard count > 0 else { return [] }
        return withUnsafeBytes(of: &received.pointee.descriptors) { bytes in
            bytes.bindMemory(to: Int32.self).prefix(count).map { OwnedDescriptor.received($0, as: foreign) }
        }
    }
}
