// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// One datagram, while it is handled.
public struct Datagram: ~Copyable {
    /// What was sent; valid in the handler only.
    public let bytes: UnsafeRawBufferPointer
    /// Whether it was longer than 64 KiB, so that its end is missing.
    public let isTruncated: Bool
    /// The user of who sent it, as the kernel vouches for it; `UInt32.max` if it does not know.
    ///
    /// It is the real one, if the sender does not choose its effective or saved one itself (unix(7)).
    public let sender: UInt32
}

/// A datagram socket that is read on the loop and never takes descriptors.
///
/// The loop looks at each datagram before it receives it. A datagram with descriptors is handled while it is still in the queue. Then another thread
/// receives it, without room for the descriptors, so the kernel releases them and they never get into the descriptor table: the release may wait
/// (``SystemCallThreads``), and close(2) would wait in more ways. The socket receives nothing until then. For a while the same is done with all datagrams, if
/// receiving one took long because of its sender (``ForeignSocket``).
@EventLoop
public final class UnixDatagramSocket {
    /// All sockets are of one owner: who sends is not known before a datagram is received.
    private static let turns = TurnQueue()
    private static let owner: UInt32 = 0
    private static let lastNumber = Atomic<UInt32>(0)
    /// Until when another thread receives all datagrams of all sockets.
    private static var slowUntil = ContinuousClock.now
    /// A datagram of any socket; of its 64 KiB the system gives only the pages that datagrams have filled.
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    /// How many sockets wait for the release of descriptors, some of which have been cancelled and still take a descriptor.
    public nonisolated static var releasingCount: Int { SystemCallThreads.datagrams.count }

    private let descriptor: OwnedDescriptor
    /// A number that hardly any other socket has.
    private let number = UnixDatagramSocket.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    /// Whether this socket has to wait for the next turn, or for something else.
    private var isWaiting = false
    /// Whether another thread receives the first datagram.
    private var isReleasing = false
    /// Whether that has descriptors, so that it may take for ever.
    private var mayNeverEnd = false
    private var isFinishing = false
    private var source: IOSource?
    private var handler: (@EventLoop (borrowing Datagram) -> Void)?
    /// Called once nothing is left in the queue.
    private var whenEmpty: [@EventLoop () -> Void] = []

    /// Reads from a bound socket (``UnixSocket/bindDatagram(at:for:)``).
    ///
    /// - Parameter isHeld: whether it reads nothing before ``resume()``.
    public init(
        adopting descriptor: OwnedDescriptor, isHeld: Bool = false,
        handler: @escaping @EventLoop (borrowing Datagram) -> Void
    ) throws(IOError) {
        self.descriptor = descriptor
        self.handler = handler
        isWaiting = isHeld
        // Else the room for the credentials would be room for a descriptor.
        try descriptor.passCredentials()
        source = try IOSource(descriptor, events: isHeld ? [] : .readable) { [unowned self] _ in
            receive()
        }
    }

    isolated deinit { source?.cancel() }

    /// Goes on receiving.
    public func resume() {
        guard !isReleasing else { return }
        isWaiting = false
        source?.events = .readable
        receive()
    }

    /// Refuses what is sent from now on; whoever sends is told so, and nothing is lost without a word.
    public func refuse() { shutdown(descriptor.rawValue, Int32(SHUT_RD)) }

    /// Receives nothing more and lets the handler go.
    ///
    /// What is still in the queue is lost; call ``finish(then:)`` if that matters. The path stays until somebody removes it.
    public func cancel() {
        refuse()
        source?.cancel()
        source = nil
        handler = nil
        callWaiters()
    }

    /// Refuses what is sent from now on, receives what was sent before, then stops and calls `body`.
    ///
    /// A datagram with descriptors is the last one, since their release may take for ever: what stands behind it is lost.
    public func finish(then body: @escaping @EventLoop () -> Void = {}) {
        refuse()
        isFinishing = true
        if isReleasing, mayNeverEnd { cancel() }
        receiveAll {
            self.cancel()
            body()
        }
    }

    /// Receives all that was sent before, in the shares of a turn that this socket has, then calls `body`; at once if nothing is left or it has stopped.
    public func receiveAll(then body: @escaping @EventLoop () -> Void) {
        whenEmpty.append(body)
        if handler == nil { callWaiters() } else { receive() }
    }

    private func callWaiters() {
        let bodies = whenEmpty
        whenEmpty = []
        for body in bodies { body() }
    }

    /// Receives what there is, as long as the shares of the turn last that this socket and all sockets together have.
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
        // If nothing is left, no event comes.
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
        // Else the loop would find it readable again and again, in the place of others.
        source?.events = []
    }

    private enum Outcome {
        case received, empty
        /// The first datagram has been handled, and another thread has to receive it.
        case mustRelease
    }

    /// What receiving a datagram may take, in nanoseconds, and for how many times as long others are left to another thread if one takes longer.
    private static let (acceptable, severity): (UInt64, Int) = (1_000_000, 200)

    /// Receives the first datagram, if there is one.
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

    /// Has another thread receive the first datagram.
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

    /// Receives the first datagram, of which nothing is wanted any more.
    private nonisolated static func receiveFirst(_ descriptor: OwnedDescriptor) {
        recv(descriptor.rawValue, nil, 0, Int32(MSG_DONTWAIT))
    }
}
