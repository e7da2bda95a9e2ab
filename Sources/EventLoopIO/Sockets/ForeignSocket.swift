// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A connection of the loop to a process of any user, on which the loop makes no call that this process can make slow.
///
/// The kernel wakes everything that watches the peer's end within the call that sends to it, receives from it or closes the connection (`sock_def_readable`,
/// `unix_write_space`). A user can have millions of epoll(7) watches, each of which costs some 100 ns, and one call may receive hundreds of messages. So the
/// loop only looks at what has come, which wakes nobody. Other threads (``SystemCallThreads/peers``) receive it, send, and close the socket, one at a time for
/// each socket. While one receives, the loop does not even look: it would wait for the kernel's lock.
package final class ForeignSocket: Sendable {
    /// What the loop is told of.
    package struct Notice: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There may be something to look at.
        package static let readable = Notice(rawValue: 1)
        /// All that was given to ``send(_:)`` has been sent.
        package static let sent = Notice(rawValue: 2)
        /// The peer takes no more for now: ``resume()`` must be called when it does.
        package static let full = Notice(rawValue: 4)
        /// The peer takes nothing any more.
        package static let failed = Notice(rawValue: 8)
    }

    private struct State {
        /// How many bytes have been looked at and are still to be received.
        var unreceived = 0
        /// What is to be sent, and how many bytes before it a thread is sending.
        var output: [UInt8] = []
        var inHand = 0
        /// Whether nothing is sent any more.
        var isDropped = false
        /// Whether a thread works on the socket, or soon will.
        var isWorking = false
        var isFull = false
        /// What the loop wants to be told of.
        var wanted: Notice = []
        /// Whether there may be room again since a thread began to send last.
        var hasRoom = false
        var pace = ReceivingPace()
        /// Until it is closed.
        var descriptor: OwnedDescriptor?
        var isClosing = false
        var isShutDown = false

        var unsentCount: Int { output.count + inHand }

        var hasWork: Bool {
            if isClosing { return descriptor != nil }
            return unreceived > 0 || !output.isEmpty && !isFull
        }

        /// Whether that may take long.
        var isMuch: Bool { isClosing || unreceived + output.count > ForeignSocket.many }

        /// Notes what was not sent, and why.
        mutating func noteSent(_ rest: ArraySlice<UInt8>, _ failure: Int32) -> Notice {
            inHand = 0
            switch failure {
            case 0, EAGAIN, ENOBUFS, ENOMEM:
                if !rest.isEmpty, !isClosing, !isDropped { output = rest + output }
                isFull = failure == EAGAIN && !hasRoom && !isDropped
                return isFull ? .full : []
            default:
                // The peer has gone, or has shut down its reading side.
                output = []
                return .failed
            }
        }

        /// Returns whether the socket is still to be shut down, and what is to be sent before.
        mutating func beginFinishing() -> (isFirst: Bool, message: [UInt8]) {
            defer { (isShutDown, output) = (true, []) }
            return (!isShutDown, output)
        }

        /// What the loop is to be told now.
        mutating func takeNotice() -> Notice {
            var notice: Notice = []
            if unreceived == 0 { notice.insert(.readable) }
            if unsentCount == 0 { notice.insert(.sent) }
            notice.formIntersection(wanted)
            wanted.subtract(notice)
            return notice
        }
    }

    /// How many bytes make work long.
    private static let many = 2048
    /// The most bytes that are sent at a time: the kernel makes more than one message of more, each of which wakes what watches the peer.
    private static let longestMessage = 32_768
    /// While more than this many sockets are being closed, none of them gets a last message.
    private static let mostWithMessages = 64
    private static let closingOrdinary = Atomic(0)
    private static let closingPrivileged = Atomic(0)

    /// How many sockets are being closed, each of which still takes a descriptor.
    ///
    /// - Parameter isPrivileged: whether they are those that ordinary users cannot have connected.
    static func closingCount(isPrivileged: Bool) -> Int {
        isPrivileged ? closingPrivileged.load(ordering: .relaxed) : closingOrdinary.load(ordering: .relaxed)
    }

    private func countClosing(_ change: Int) {
        if isPrivileged {
            Self.closingPrivileged.add(change, ordering: .relaxed)
        } else {
            Self.closingOrdinary.add(change, ordering: .relaxed)
        }
    }

    private let user: UInt32
    private let isPrivileged: Bool
    private let state: Mutex<State>
    /// Called on the loop.
    @EventLoop package var onNotice: @EventLoop (Notice) -> Void = { _ in }

    /// - Parameter user: whose process is at the other end.
    package init(_ descriptor: OwnedDescriptor, user: UInt32) {
        self.user = user
        isPrivileged = descriptor.isPrivileged
        state = Mutex(State(descriptor: descriptor))
    }

    // MARK: On the loop

    /// Looks at what has come: what recv(2) would return, with its `errno` (``OwnedDescriptor/look(into:)``).
    ///
    /// Nothing more is seen before it has been received; a notice then says so.
    @EventLoop package func look(into room: UnsafeMutableRawBufferPointer) -> Int {
        let descriptor = state.withLock { state in
            if state.unreceived > 0 { state.wanted.insert(.readable) }
            return state.unreceived > 0 || state.isClosing ? nil : state.descriptor
        }
        guard let descriptor else {
            errno = EAGAIN
            return -1
        }
        let count = descriptor.look(into: room)
        if count > 0 { state.withLock { $0.unreceived = count } }
        return count
    }

    /// Has bytes sent, and what has been looked at received.
    @EventLoop package func send(_ bytes: UnsafeBufferPointer<UInt8>) {
        work { $0.output.append(contentsOf: bytes) }
    }

    /// How many bytes have not been sent.
    package var unsentCount: Int { state.withLock { $0.unsentCount } }

    /// Whether it waits for ``resume()``.
    package var isFull: Bool { state.withLock { $0.isFull } }

    /// Asks for a notice when everything has been sent; there is one in any case.
    @EventLoop package func notifyWhenSent() {
        let isSent = state.withLock { state in
            if state.unsentCount > 0 { state.wanted.insert(.sent) }
            return state.unsentCount == 0
        }
        if isSent { EventLoop.atEndOfTurn { self.onNotice(.sent) } }
    }

    /// Goes on sending, since the peer takes something again.
    @EventLoop package func resume() { work { ($0.isFull, $0.hasRoom) = (false, true) } }

    /// Drops what was not sent; nothing may be given to ``send(_:)`` any more.
    @EventLoop package func dropOutput() {
        state.withLock { ($0.output, $0.isFull, $0.isDropped) = ([], false, true) }
    }

    /// Lets go of the socket without closing it, if nothing is left to do; returns false if something is, and gives a notice when that is done.
    @EventLoop package func release() -> Bool {
        let isIdle = state.withLock { state in
            let isIdle = !state.isWorking && state.unreceived == 0 && state.unsentCount == 0
            if isIdle { state.descriptor = nil } else { state.wanted.insert(.sent) }
            return isIdle
        }
        if isIdle { onNotice = { _ in } }
        return isIdle
    }

    /// Drops what was not sent, and closes the socket; there are no more notices.
    @EventLoop package func close() {
        onNotice = { _ in }
        countClosing(1)
        work { state in
            state.isClosing = true
            state.output = []
        }
    }

    /// Sends a last message instead of what was not sent, and closes the socket; for one that the loop did not use.
    ///
    /// While many are being closed, it sends no message.
    ///
    /// Whoever has accepted it must have let go of the descriptor, or it would be closed there.
    @EventLoop package func dismiss(with message: [UInt8]) {
        countClosing(1)
        work { state in
            state.isClosing = true
            state.output = message
        }
    }

    private func work(_ change: (inout State) -> Void) {
        let isMuch: Bool? = state.withLock { state in
            change(&state)
            guard state.hasWork, !state.isWorking else { return nil }
            state.isWorking = true
            return state.isMuch
        }
        if let isMuch { start(isMuch) }
    }

    private func start(_ isMuch: Bool) {
        SystemCallThreads.peers.perform(for: user, isMuch: isMuch) { self.work() }
    }

    // MARK: On another thread

    /// Does what there is to do, for a while.
    private func work() {
        let share = ReceivingShare()
        var notice: Notice = []
        if state.withLock({ $0.isClosing }) {
            finish(share)
        } else if let descriptor = state.withLock({ $0.descriptor }) {
            if receive(from: descriptor, share) { notice.insert(.readable) }
            if !share.isUsedUp { notice.formUnion(send(to: descriptor, share)) }
        }
        goOn(notice)
    }

    /// Tells the loop what it must know, and goes on when the turn of the user has come, if there is more to do.
    private func goOn(_ notice: Notice) {
        let (notice, isMuch): (Notice, Bool?) = state.withLock { state in
            state.isWorking = state.hasWork
            return (notice.union(state.takeNotice()), state.isWorking ? state.isMuch : nil)
        }
        if !notice.isEmpty { EventLoop.perform { self.onNotice(notice) } }
        if let isMuch { start(isMuch) }
    }

    /// Receives what has been looked at, as far as there is time; returns whether there is more to look at, or the end.
    private func receive(from descriptor: OwnedDescriptor, _ share: ReceivingShare) -> Bool {
        let count = state.withLock { $0.unreceived }
        guard count > 0 else { return false }
        let left = receive(upTo: count, share, descriptor.discard)
        // As long as this is not 0, the loop does not look.
        let hasMore = left == 0 && descriptor.isReadable
        state.withLock { $0.unreceived = left }
        return hasMore
    }

    private func receive(upTo count: Int, _ share: ReceivingShare, _ receive: (Int) -> Int) -> Int {
        var pace = state.withLock { $0.pace }
        defer { state.withLock { $0.pace = pace } }
        return share.receive(upTo: count, &pace, receive)
    }

    /// Sends what there is, as far as there is time, unless something is still to be received.
    private func send(to descriptor: OwnedDescriptor, _ share: ReceivingShare) -> Notice {
        let bytes = state.withLock { state in
            guard state.unreceived == 0, !state.isFull else { return [UInt8]() }
            var bytes: [UInt8] = []
            swap(&bytes, &state.output)
            state.inHand = bytes.count
            state.hasRoom = false
            return bytes
        }
        guard !bytes.isEmpty else { return [] }
        var (sent, failure) = (0, Int32(0))
        repeat {
            let (count, errno) = descriptor.send(bytes[sent..<min(bytes.count, sent + Self.longestMessage)])
            (sent, failure) = (sent + count, errno)
        } while sent < bytes.count && failure == 0 && !share.isUsedUp
        // There is nothing to wait for but time.
        if failure == ENOBUFS || failure == ENOMEM { usleep(1000) }
        return state.withLock { $0.noteSent(bytes[sent...], failure) }
    }

    /// Sends a last message, receives all that is left, as far as there is time, and closes the socket after that.
    private func finish(_ share: ReceivingShare) {
        if let descriptor = state.withLock({ $0.descriptor }) {
            let (isFirst, message) = state.withLock { $0.beginFinishing() }
            // Sending may take as long as closing.
            if !message.isEmpty, Self.closingCount(isPrivileged: isPrivileged) <= Self.mostWithMessages {
                _ = descriptor.send(message[...])
            }
            // Nothing is added while it is received; if there is nothing, this would only wake once more what watches the peer.
            if isFirst, descriptor.unreadCount > 0 { shutdown(descriptor.rawValue, Int32(SHUT_RDWR)) }
            // Descriptors would have to be released; other threads do that when the last reference goes.
            if receive(upTo: descriptor.unreadCount, share, descriptor.discardBytes) > 0 { return }
        }
        Self.letGo(state.withLock { $0.descriptor.take() })
        countClosing(-1)
    }

    /// Closes the socket, since this is the last reference.
    private static func letGo(_ descriptor: consuming OwnedDescriptor?) {}
}
