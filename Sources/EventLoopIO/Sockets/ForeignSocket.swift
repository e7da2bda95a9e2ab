// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A connection to a process of any user, on which the loop makes no call that this process can make slow.
///
/// A call that sends, receives or closes wakes everything that watches the peer's end (`sock_def_readable`, `unix_write_space`). A user can
/// have millions of epoll(7) watches, each of which costs some 100 ns, and one call may receive hundreds of messages. So the loop only
/// looks at input, which wakes nothing. Other threads (``SystemCallThreads/peers``) receive it, send, and close the socket; one thread at a
/// time works on a socket. While one receives, the loop does not even look: it would wait for the kernel's lock.
package final class ForeignSocket: Sendable {
    /// What the other threads report to the loop.
    package struct Notice: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There may be input to look at.
        package static let readable = Notice(rawValue: 1)
        /// Everything passed to ``send(_:)`` has been sent.
        package static let sent = Notice(rawValue: 2)
        /// The peer takes no more for now; call ``resume()`` when it does.
        package static let full = Notice(rawValue: 4)
        /// The peer takes no more output.
        package static let failed = Notice(rawValue: 8)
    }

    private struct State {
        /// How many bytes the loop has looked at that must still be received.
        var unreceived = 0
        /// The bytes to send, and the number of bytes that a thread is sending before them.
        var output: [UInt8] = []
        var inHand = 0
        /// Whether output is dropped.
        var isDropped = false
        /// Whether a thread works on the socket or has been asked to.
        var isWorking = false
        var isFull = false
        /// The notices that the loop waits for.
        var wanted: Notice = []
        /// Whether the peer may have made room since a thread last began to send.
        var hasRoom = false
        var pace = ReceivingPace()
        /// The socket, until it is closed.
        var descriptor: OwnedDescriptor?
        var isClosing = false
        var isShutDown = false

        var unsentCount: Int { output.count + inHand }

        var hasWork: Bool {
            if isClosing { return descriptor != nil }
            return unreceived > 0 || !output.isEmpty && !isFull
        }

        /// Whether the work may take long.
        var isMuch: Bool { isClosing || unreceived + output.count > ForeignSocket.many }

        /// Records what was not sent, and why.
        mutating func noteSent(_ rest: ArraySlice<UInt8>, _ failure: Int32) -> Notice {
            inHand = 0
            switch failure {
            case 0, EAGAIN, ENOBUFS, ENOMEM:
                if !rest.isEmpty, !isClosing, !isDropped { output = rest + output }
                isFull = failure == EAGAIN && !hasRoom && !isDropped
                return isFull ? .full : []
            default:
                // The peer has disconnected or shut down its reading side.
                output = []
                return .failed
            }
        }

        /// Returns whether the socket must be shut down, and what to send before that.
        mutating func beginFinishing() -> (isFirst: Bool, message: [UInt8]) {
            defer { (isShutDown, output) = (true, []) }
            return (!isShutDown, output)
        }

        /// Takes the notices that are due.
        mutating func takeNotice() -> Notice {
            var notice: Notice = []
            if unreceived == 0 { notice.insert(.readable) }
            if unsentCount == 0 { notice.insert(.sent) }
            notice.formIntersection(wanted)
            wanted.subtract(notice)
            return notice
        }
    }

    /// More bytes than these make work long.
    private static let many = 2048
    /// The longest piece sent at a time.
    ///
    /// The kernel splits a longer one into messages, each of which wakes what watches the peer.
    private static let longestMessage = 32_768
    /// While more sockets than these are being closed, none of them gets a last message.
    private static let mostWithMessages = 64
    private static let closingOrdinary = Atomic(0)
    private static let closingPrivileged = Atomic(0)

    /// The number of sockets that are being closed, each of which still takes a descriptor.
    ///
    /// - Parameter isPrivileged: whether to count the sockets that ordinary users cannot have connected.
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
    /// Called on the loop with each notice.
    @EventLoop package var onNotice: @EventLoop (Notice) -> Void = { _ in }

    /// Takes over a connection.
    ///
    /// - Parameter user: the user of the process at the other end.
    package init(_ descriptor: OwnedDescriptor, user: UInt32) {
        self.user = user
        isPrivileged = descriptor.isPrivileged
        state = Mutex(State(descriptor: descriptor))
    }

    // MARK: On the loop

    /// Looks at the input; returns what recv(2) would, with its `errno` (``OwnedDescriptor/look(into:)``).
    ///
    /// More input is visible only after it has been received, which a notice reports.
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

    /// Sends bytes, and receives what has been looked at.
    @EventLoop package func send(_ bytes: UnsafeBufferPointer<UInt8>) {
        work { $0.output.append(contentsOf: bytes) }
    }

    /// The number of bytes that have not been sent.
    package var unsentCount: Int { state.withLock { $0.unsentCount } }

    /// Whether it waits for ``resume()``.
    package var isFull: Bool { state.withLock { $0.isFull } }

    /// Requests a notice when everything has been sent.
    ///
    /// It comes unless output is dropped or the socket is closed first.
    @EventLoop package func notifyWhenSent() {
        let isSent = state.withLock { state in
            if state.unsentCount > 0 { state.wanted.insert(.sent) }
            return state.unsentCount == 0
        }
        if isSent { EventLoop.atEndOfTurn { self.onNotice(.sent) } }
    }

    /// Continues to send, because the peer takes more again.
    @EventLoop package func resume() { work { ($0.isFull, $0.hasRoom) = (false, true) } }

    /// Drops unsent output; ``send(_:)`` must not be given bytes after this, but an empty call still receives.
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

    /// Drops unsent output and closes the socket; no notice follows.
    @EventLoop package func close() {
        onNotice = { _ in }
        countClosing(1)
        work { state in
            state.isClosing = true
            state.output = []
        }
    }

    /// Sends a last message instead of unsent output, and closes the socket; for a socket that the loop did not use.
    ///
    /// If many sockets are being closed, it sends no message. The caller must release its own reference to the descriptor, or the loop
    /// would close it.
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

    /// Does the work that is due, for a while.
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

    /// Reports to the loop.
    ///
    /// If there is more work, continues when it is the user's turn.
    private func goOn(_ notice: Notice) {
        let (notice, isMuch): (Notice, Bool?) = state.withLock { state in
            state.isWorking = state.hasWork
            return (notice.union(state.takeNotice()), state.isWorking ? state.isMuch : nil)
        }
        if !notice.isEmpty { EventLoop.perform { self.onNotice(notice) } }
        if let isMuch { start(isMuch) }
    }

    /// Receives what has been looked at, as far as the share allows; returns whether there is more input or the end.
    private func receive(from descriptor: OwnedDescriptor, _ share: ReceivingShare) -> Bool {
        let count = state.withLock { $0.unreceived }
        guard count > 0 else { return false }
        let left = receive(upTo: count, share, descriptor.discard)
        // While this is not 0, the loop does not look.
        let hasMore = left == 0 && descriptor.isReadable
        state.withLock { $0.unreceived = left }
        return hasMore
    }

    private func receive(upTo count: Int, _ share: ReceivingShare, _ receive: (Int) -> Int) -> Int {
        var pace = state.withLock { $0.pace }
        defer { state.withLock { $0.pace = pace } }
        return share.receive(upTo: count, &pace, receive)
    }

    /// Sends as far as the share allows, unless there is still something to receive.
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
        // The kernel does not report when it has memory again.
        if failure == ENOBUFS || failure == ENOMEM { usleep(1000) }
        return state.withLock { $0.noteSent(bytes[sent...], failure) }
    }

    /// Sends a last message, receives the rest as far as the share allows, and then closes the socket.
    private func finish(_ share: ReceivingShare) {
        if let descriptor = state.withLock({ $0.descriptor }) {
            let (isFirst, message) = state.withLock { $0.beginFinishing() }
            // Sending may take as long as closing.
            if !message.isEmpty, Self.closingCount(isPrivileged: isPrivileged) <= Self.mostWithMessages {
                _ = descriptor.send(message[...])
            }
            // Shutting down keeps the peer from adding more. If nothing is unread, it would only wake once more what watches the peer.
            if isFirst, descriptor.unreadCount > 0 { shutdown(descriptor.rawValue, Int32(SHUT_RDWR)) }
            // If descriptors came along, they must be released; other threads do that when the last reference is released.
            if receive(upTo: descriptor.unreadCount, share, descriptor.discardBytes) > 0 { return }
        }
        Self.letGo(state.withLock { $0.descriptor.take() })
        countClosing(-1)
    }

    /// Closes the socket by releasing its last reference.
    private static func letGo(_ descriptor: consuming OwnedDescriptor?) {}
}
