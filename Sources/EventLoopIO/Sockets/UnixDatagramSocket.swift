// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// A datagram, while it is handled.
public struct Datagram: ~Copyable {
    /// The bytes sent, which are valid in the handler only.
    public let bytes: UnsafeRawBufferPointer
    /// Whether it was longer than 64 KiB, so that its end is missing.
    public let isTruncated: Bool
    /// The sender's user, as the kernel reports it; `UInt32.max` if it is unknown.
    ///
    /// It is the real user, unless the sender chooses its effective or saved one (unix(7)).
    public let sender: UInt32
}

/// A datagram socket that is read on the loop and never receives descriptors.
///
/// The loop looks at each datagram before it receives it. A datagram with descriptors is handled while it is still in the queue. Then
/// another thread receives it without room for the descriptors, so the kernel releases them and they never enter the descriptor table. The
/// release may wait, and close(2) would wait in more cases. The socket receives nothing until then. If receiving a datagram took long
/// because of its sender, all datagrams are handled in this way for a while.
@EventLoop
public final class UnixDatagramSocket {
    /// All sockets have one owner, because the sender is unknown until a datagram is received.
    private static let turns = TurnQueue()
    private static let owner: UInt32 = 0
    private static let lastNumber = Atomic<UInt32>(0)
    /// When the loop may receive datagrams again, after one that was slow.
    private static var slowUntil = ContinuousClock.now
    /// Holds a datagram of any socket; only pages that a datagram has filled take memory.
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    /// The number of sockets that wait for the release of descriptors; some are cancelled and still take a descriptor.
    public nonisolated static var releasingCount: Int { SystemCallThreads.datagrams.count }

    private let descriptor: OwnedDescriptor
    /// A number that hardly any other socket has.
    private let number = UnixDatagramSocket.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    /// Whether this socket waits for the next turn or for something else.
    private var isWaiting = false
    /// Whether another thread receives the first datagram.
    private var isReleasing = false
    /// Whether that datagram has descriptors, so that receiving it may never end.
    private var mayNeverEnd = false
    private var isFinishing = false
    private var source: IOSource?
    private var handler: (@EventLoop (borrowing Datagram) -> Void)?
    /// Called when the queue is empty.
    private var whenEmpty: [@EventLoop () -> Void] = []

    /// Reads from a bound socket (``UnixSocket/bindDatagram(at:restrict:)``).
    ///
    /// - Parameters:
    ///   - descriptor: the socket.
    ///   - isHeld: whether to read nothing before ``resume()``.
    ///   - handler: called with each datagram.
    public init(
        adopting descriptor: OwnedDescriptor, isHeld: Bool = false,
        handler: @escaping @EventLoop (borrowing Datagram) -> Void
    ) throws(IOError) {
        self.descriptor = descriptor
        self.handler = handler
        isWaiting = isHeld
        // Without it, the room for the credentials would be room for a descriptor.
        try descriptor.passCredentials()
        source = try IOSource(descriptor, events: isHeld ? [] : .readable) { [unowned self] _ in
            receive()
        }
    }

    isolated deinit { source?.cancel() }

    /// Continues to receive.
    public func resume() {
        guard !isReleasing else { return }
        isWaiting = false
        source?.events = .readable
        receive()
    }

    /// Refuses further datagrams; their senders get an error.
    public func refuse() { shutdown(descriptor.rawValue, Int32(SHUT_RD)) }

    /// Receives nothing more and releases the handler.
    ///
    /// Datagrams in the queue are lost; call ``finish(then:)`` to handle them. The socket's file stays.
    public func cancel() {
        refuse()
        source?.cancel()
        source = nil
        handler = nil
        callWaiters()
    }

    /// Refuses further datagrams, receives those in the queue, then stops and calls `body`.
    ///
    /// A datagram with descriptors is the last one, because their release may never end: those behind it are lost.
    public func finish(then body: @escaping @EventLoop () -> Void = {}) {
        refuse()
        isFinishing = true
        if isReleasing, mayNeverEnd { cancel() }
        receiveAll {
            self.cancel()
            body()
        }
    }

    /// Receives the datagrams in the queue, within this socket's shares of turns, then calls `body`.
    ///
    /// It calls `body` as soon as it finds the queue empty, and at once if the socket has stopped.
    public func receiveAll(then body: @escaping @EventLoop () -> Void) {
        whenEmpty.append(body)
        if handler == nil { callWaiters() } else { receive() }
    }

    private func callWaiters() {
        let bodies = whenEmpty
        whenEmpty = []
        for body in bodies { body() }
    }

    /// Receives datagrams until a share is used up: this socket's, or that of all sockets together.
    private func receive(hasWaited: Bool = false) {
        guard handler != nil, !isWaiting, !isReleasing else { return }
        if FlowControl.isHeld { return waitForStreams() }
        if !hasWaited, Self.turns.mustWait(Self.owner) { return wait() }
        let share = TurnShare()
        defer { Self.turns.note(share.nanosecondsTaken, by: Self.owner) }
        repeat {
            switch receiveOne() {
            case .received: break
            case .empty: return callWaiters()
            case .mustRelease: return release()
            }
            if FlowControl.isHeld { return waitForStreams() }
        } while !share.isUsedUp
        // If nothing arrives, no event continues this.
        if !whenEmpty.isEmpty { wait() }
    }

    private func wait() {
        pause()
        Self.turns.append(of: Self.owner) { [weak self] in
            guard let self, !isReleasing else { return }
            isWaiting = false
            source?.events = .readable
            receive(hasWaited: true)
        }
    }

    private func waitForStreams() {
        pause()
        FlowControl.whenReleased { [weak self] in self?.resume() }
    }

    /// Receives nothing for the time being.
    private func pause() {
        isWaiting = true
        // Or the loop would find it readable in each turn, instead of other descriptors.
        source?.events = []
    }

    private enum Outcome {
        case received, empty
        /// The first datagram has been handled, and another thread must receive it.
        case mustRelease
    }

    /// How long receiving a datagram may take, in nanoseconds.
    ///
    /// After a slower one, other threads receive for this many times as long.
    private static let (acceptable, severity): (UInt64, Int) = (1_000_000, 200)

    /// Handles and receives the first datagram, if there is one.
    private func receiveOne() -> Outcome {
        var flags: Int32 = 0
        var sender = linux_credentials()
        let count = linux_peek_datagram(
            descriptor.rawValue, Self.buffer.baseAddress, Self.buffer.count, &flags, &sender)
        guard count >= 0 else { return .empty }
        mayNeverEnd = flags & Int32(MSG_CTRUNC) != 0
        isReleasing = mayNeverEnd || ContinuousClock.now < Self.slowUntil
        if !isReleasing { receiveMeasured() }
        let outcome = isReleasing ? Outcome.mustRelease : .received
        handler?(
            Datagram(
                bytes: UnsafeRawBufferPointer(rebasing: Self.buffer.prefix(count)),
                isTruncated: flags & Int32(MSG_TRUNC) != 0, sender: sender.uid))
        return outcome
    }

    private func receiveMeasured() {
        let share = TurnShare()
        Self.receiveFirst(descriptor)
        let taken = share.nanosecondsTaken
        if taken > Self.acceptable { Self.slowUntil = .now + .nanoseconds(taken) * Self.severity }
    }

    /// Makes another thread receive the first datagram.
    private func release() {
        if isFinishing, mayNeverEnd { return cancel() }
        pause()
        SystemCallThreads.datagrams.perform(for: number, isMuch: true) { [descriptor, weak self] in
            Self.receiveFirst(descriptor)
            EventLoop.perform {
                self?.isReleasing = false
                self?.resume()
            }
        }
    }

    /// Receives and drops the first datagram.
    private nonisolated static func receiveFirst(_ descriptor: OwnedDescriptor) {
        recv(descriptor.rawValue, nil, 0, Int32(MSG_DONTWAIT))
    }
}
