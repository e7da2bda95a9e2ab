// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A datagram, while it is handled.
package struct Datagram: ~Copyable {
    /// The bytes sent, which are valid in the handler only.
    package let bytes: UnsafeRawBufferPointer
    /// Whether it was longer than 64 KiB, so that its end is missing.
    package let isTruncated: Bool
    /// The sender's user, as the kernel reports it; `UInt32.max` if it is unknown.
    ///
    /// It is the real user, unless the sender chooses its effective or saved one (unix(7)).
    package let sender: UInt32
}

/// A datagram socket that is read on the loop.
///
/// Descriptors that come with a datagram are closed, on another thread.
@EventLoop
package final class UnixDatagramSocket {
    package typealias Handler = @EventLoop (borrowing Datagram) -> Void

    private enum State {
        /// Reads nothing before ``UnixDatagramSocket/resume()``.
        case held(IOSource, Handler)
        case reading(IOSource, Handler)
        case cancelled
    }

    /// Memory for the datagrams of one system call, which all sockets share.
    ///
    /// Only pages that a datagram has filled take memory.
    private static let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity * size, alignment: 16)
    private static let arrivals = UnsafeMutablePointer<linux_arrival>.allocate(capacity: capacity)
    private nonisolated static let capacity = Int(LINUX_MAX_MESSAGES)
    private nonisolated static let size = 65_536

    private let descriptor: OwnedDescriptor
    private var state = State.cancelled
    /// Called when the queue is empty.
    private var whenEmpty: [@EventLoop () -> Void] = []

    /// Reads from a bound socket (``UnixSocket/bindDatagram(at:restrict:)``).
    ///
    /// - Parameters:
    ///   - descriptor: the socket.
    ///   - isHeld: whether to read nothing before ``resume()``.
    ///   - handler: called with each datagram; it must not make a socket read, because all share their memory.
    package init(
        adopting descriptor: OwnedDescriptor, isHeld: Bool = false, handler: @escaping Handler
    ) throws(IOError) {
        self.descriptor = descriptor
        let source = try IOSource(descriptor, events: isHeld ? [] : .readable) { [unowned self] _ in receive() }
        state = isHeld ? .held(source, handler) : .reading(source, handler)
    }

    isolated deinit { cancel() }

    /// Starts reading.
    package func resume() {
        guard case .held(let source, let handler) = state else { return }
        state = .reading(source, handler)
        source.events = .readable
        receive()
    }

    /// Replaces the handler, from the next datagram on.
    package func setHandler(_ handler: @escaping Handler) {
        switch state {
        case .held(let source, _): state = .held(source, handler)
        case .reading(let source, _): state = .reading(source, handler)
        case .cancelled: break
        }
    }

    /// Refuses further datagrams; their senders get an error.
    private func refuse() { shutdown(descriptor.rawValue, Int32(SHUT_RD)) }

    /// Receives nothing more and releases the handler.
    ///
    /// Datagrams in the queue are lost; call ``finish(then:)`` to handle them. The socket's file stays.
    package func cancel() {
        switch state {
        case .held(let source, _), .reading(let source, _): source.cancel()
        case .cancelled: return
        }
        state = .cancelled
        refuse()
        ForeignDescriptors.drain(descriptor, isStream: false)
        callWaiters()
    }

    /// Refuses further datagrams, receives those in the queue, then stops and calls `body`.
    package func finish(then body: @escaping @EventLoop () -> Void = {}) {
        refuse()
        receiveAll {
            self.cancel()
            body()
        }
    }

    /// Receives the datagrams in the queue, then calls `body`; at once if the socket was cancelled.
    ///
    /// It uses this socket's share of each turn, and the datagrams of one system call more.
    package func receiveAll(then body: @escaping @EventLoop () -> Void) {
        whenEmpty.append(body)
        if case .cancelled = state { callWaiters() } else { receive() }
    }

    private func callWaiters() {
        let bodies = whenEmpty
        whenEmpty = []
        for body in bodies { body() }
    }

    /// Receives datagrams until the share of the turn is used up.
    private func receive() {
        let share = TurnShare()
        while case .reading = state {
            guard receiveSome() else { return callWaiters() }
            if share.isUsedUp { break }
        }
        // Without new input, no event would continue this.
        if !whenEmpty.isEmpty { EventLoop.atNextTurn { [weak self] in self?.receive() } }
    }

    /// Receives and handles datagrams with one system call; returns whether there may be more.
    private func receiveSome() -> Bool {
        // One for each microsecond of the share, so that many busy sockets do not make a turn long.
        let maximum = min(Self.capacity, max(1, Int(EventLoop.executor.share / 1000)))
        let room = UnsafeMutableRawBufferPointer(rebasing: Self.room.prefix(maximum * Self.size))
        let count = descriptor.receive(maximum, into: room, Self.arrivals)
        for index in 0..<max(0, count) {
            let arrival = Self.arrivals + index
            // Closed last, because closing answers sd_notify_barrier(3).
            defer { if arrival.pointee.count > 0 { ForeignDescriptors.close(arrival.pointee.allDescriptors) } }
            // The handler may have cancelled, or replaced itself.
            guard case .reading(_, let handler) = state else { continue }
            let begin = index * Self.size
            handler(
                Datagram(
                    bytes: UnsafeRawBufferPointer(rebasing: room[begin..<begin + arrival.pointee.length]),
                    isTruncated: arrival.pointee.flags & Int32(MSG_TRUNC) != 0, sender: arrival.pointee.sender.uid))
        }
        return count == maximum
    }
}
