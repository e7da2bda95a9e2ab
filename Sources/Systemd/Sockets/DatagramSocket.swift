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
    /// More than the kernel keeps for a socket (net.unix.max_dgram_qlen: 10, and 512 where systemd runs).
    private static let longestQueue = 1024

    /// All sockets are of one owner: who sends is not known before a datagram is received.
    private static let turns = TurnQueue()
    private static let owner: UInt32 = 0

    private let descriptor: OwnedDescriptor
    private let foreign = ForeignDescriptors()
    /// Whether this socket has to wait for the next turn.
    private var isWaiting = false
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

    /// Reads what was sent before, unless there is no room for the descriptors that may come along; then stops and lets the handler go.
    ///
    /// The path stays until somebody removes it.
    public func cancel() {
        // Who sends from now on is told so; else what came between the last look and the end would be lost without a word.
        shutdown(descriptor.rawValue, Int32(SHUT_RD))
        while case .perhapsMore = receiveBatch() {}
        source?.cancel()
        source = nil
        handler = nil
    }

    /// Receives all that was sent before, if there is room for the descriptors that may come along; but not endlessly what is sent meanwhile.
    public func receiveAll() {
        batchSize = DatagramBatch.capacity
        var received = 0
        while received < Self.longestQueue, case .perhapsMore(let count) = receiveBatch() { received += count }
    }

    /// Receives what there is, as long as the shares of the turn last that this socket and all sockets together have.
    private func receive(hasWaited: Bool = false) {
        guard handler != nil, !isWaiting else { return }
        if FlowControl.isHeld { return waitForRelease() }
        if !hasWaited, Self.turns.mustWait(Self.owner) { return wait() }
        // Whoever sends what is long in closing waits for it.
        guard foreign.isEmpty else { return waitForClosing() }
        let share = TurnShare()
        defer { Self.turns.note(share.nanosecondsTaken, by: Self.owner) }
        while true {
            switch receiveBatch() {
            case .perhapsMore: break
            case .noMore:
                batchSize = min(batchSize * 2, DatagramBatch.capacity)
                return
            case .noRoom: return pause { DescriptorCloser.whenSomeMayBeClosed($0) }
            }
            guard foreign.isEmpty else { return waitForClosing() }
            if FlowControl.isHeld { return waitForRelease() }
            guard share.isUsedUp else { continue }
            batchSize = max(1, batchSize / 4)
            return
        }
    }

    private func wait() {
        isWaiting = true
        Self.turns.append(of: Self.owner) { [weak self] in
            self?.isWaiting = false
            self?.receive(hasWaited: true)
        }
    }

    private func waitForRelease() { pause { FlowControl.whenReleased($0) } }

    private func waitForClosing() {
        // Not at once, which would be within the call that waits.
        pause { resume in foreign.whenEmpty { EventLoop.perform { EventLoop.atNextTurn { resume() } } } }
    }

    /// Receives nothing until `schedule` has called back.
    private func pause(_ schedule: (@escaping @EventLoop @Sendable () -> Void) -> Void) {
        isWaiting = true
        // Else the loop would find it readable again and again.
        source?.events = []
        schedule { [weak self] in
            self?.isWaiting = false
            self?.source?.events = .readable
            self?.receive()
        }
    }

    private enum Outcome {
        /// So many were received.
        case perhapsMore(Int)
        case noMore
        /// There is no room for the descriptors that may come along.
        case noRoom
    }

    /// Receives some datagrams.
    private func receiveBatch() -> Outcome {
        let size = min(batchSize, ForeignDescriptors.datagramsToReceive)
        if size <= 0 { return .noRoom }
        let count = DatagramBatch.shared.receive(size, from: descriptor.rawValue)
        for index in 0..<count { DatagramBatch.shared.withDatagram(index, foreign: foreign) { handler?($0) } }
        return count == size ? .perhapsMore(count) : .noMore
    }
}
