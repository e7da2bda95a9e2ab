// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A file descriptor that is closed when the last reference to it goes.
public final class OwnedDescriptor: Sendable {
    /// The number; valid as long as this object lives.
    public let rawValue: Int32

    private let closing: Closing
    /// Whether it is a connection that ordinary users cannot have made.
    let isPrivileged: Bool

    /// How it is closed.
    private enum Closing {
        /// At once: closing it never waits.
        case atOnce
        /// By a thread that may wait if something is in its queue, which may be descriptors of another process.
        case connection, receiver
    }

    /// Takes over `descriptor`, which nobody else may close.
    public convenience init(adopting descriptor: Int32) { self.init(adopting: descriptor, closing: .atOnce) }

    /// Takes over a connected Unix socket whose peer may send descriptors of its own.
    ///
    /// - Parameter isPrivileged: whether ordinary users cannot have connected it.
    public convenience init(adoptingConnection descriptor: Int32, isPrivileged: Bool = false) {
        let isClean = linux_refuses_descriptors(descriptor)
        // Some kernels (6.12, by its source) else pass over a byte out of band when the queue is looked at, and the next recv(2) releases the
        // descriptors that came with it.
        var inLine: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_OOBINLINE, &inLine, socklen_t(MemoryLayout<Int32>.size))
        self.init(adopting: descriptor, closing: isClean ? .atOnce : .connection, isPrivileged: isPrivileged)
    }

    /// Takes over a bound datagram socket, to which others may send descriptors of their own.
    public convenience init(adoptingReceiver descriptor: Int32) {
        self.init(adopting: descriptor, closing: .receiver)
    }

    private init(adopting descriptor: Int32, closing: Closing, isPrivileged: Bool = false) {
        rawValue = descriptor
        self.closing = closing
        self.isPrivileged = isPrivileged
    }

    /// Whether so many connections are being closed that no others should be accepted: each takes a descriptor until then.
    ///
    /// - Parameter isPrivileged: whether the others are not those of ordinary users. Even if all connections of the one kind are being closed, some of the
    ///   other can be accepted.
    public static func areTooManyClosing(isPrivileged: Bool) -> Bool {
        let ordinary = ForeignSocket.closingCount(isPrivileged: false)
        return isPrivileged
            ? ordinary + ForeignSocket.closingCount(isPrivileged: true) > limit / 2
            : ordinary > limit / 16 || SystemCallThreads.connections.isBehind
    }

    /// Whether connections are being closed by threads that may wait.
    public static var isClosing: Bool { SystemCallThreads.connections.count > 0 }

    /// A pipe, whose reading end never keeps its reader waiting; nil if there are no descriptors for it.
    public static func makePipe() -> (reading: OwnedDescriptor, writing: OwnedDescriptor)? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (OwnedDescriptor(adopting: ends[0]), OwnedDescriptor(adopting: ends[1]))
    }

    deinit {
        switch closing {
        case .atOnce: close(rawValue)
        case .receiver: finish(by: .datagrams) { isUnreadReceiver ? .max : 0 }
        case .connection: finish(by: .connections) { unreadCount }
        }
    }

    private func finish(by threads: SystemCallThreads, _ unreadCount: () -> Int) {
        // From here on nothing more is added to the queue.
        shutdown(rawValue, Int32(SHUT_RDWR))
        let unreadCount = unreadCount()
        guard unreadCount > 0 else { return _ = close(rawValue) }
        threads.perform { [rawValue] in
            // close(2) would receive all at once.
            ReceivingShare.receiveAll(unreadCount, busyCount: { threads.busyCount }) { Self.discard($0, of: rawValue) }
            close(rawValue)
        }
    }

    /// How many bytes of a connection there are to be received; `Int.max` if that is not known.
    var unreadCount: Int {
        var unread: Int32 = 0
        return ioctl(rawValue, UInt(FIONREAD), &unread) == 0 ? Int(unread) : .max
    }

    /// Whether there is a datagram, which may be empty.
    private var isUnreadReceiver: Bool {
        var byte: UInt8 = 0
        return withUnsafeMutableBytes(of: &byte) { peek(into: $0).count } >= 0
    }
}

extension OwnedDescriptor {
    /// Receives bytes of a connection, without waiting: what recv(2) returns, with its `errno`; `EPROTO` if descriptors came along.
    ///
    /// Then it must be closed. The descriptors stay in the queue: the kernel would close them, and wait, if the bytes were taken.
    public func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard case .connection = closing else {
            return recv(rawValue, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        let count = look(into: buffer)
        return count > 0 ? recv(rawValue, buffer.baseAddress, count, Int32(MSG_DONTWAIT)) : count
    }

    /// Looks at the bytes that are next, without receiving them: what ``receive(into:)`` would return.
    public func look(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (count, flags) = peek(into: buffer)
        guard count > 0, flags & Int32(MSG_CTRUNC) != 0 else { return count }
        errno = EPROTO
        return -1
    }

    /// Receives up to so many bytes, of which nothing is wanted any more; returns what recv(2) returns.
    func discard(_ count: Int) -> Int { Self.discard(count, of: rawValue) }

    /// The same; -1 if descriptors came along, which stay in the queue.
    func discardBytes(_ count: Int) -> Int {
        if case .atOnce = closing { return discard(count) }
        return withUnsafeTemporaryAllocation(byteCount: min(count, 16_384), alignment: 16) { scratch in
            let seen = look(into: scratch)
            return seen > 0 ? discard(seen) : seen
        }
    }

    private static func discard(_ count: Int, of descriptor: Int32) -> Int {
        withUnsafeTemporaryAllocation(byteCount: min(count, 16_384), alignment: 16) { scratch in
            recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
        }
    }

    /// Whether recv(2) would say something else than that there is nothing yet.
    var isReadable: Bool {
        var byte: UInt8 = 0
        return recv(rawValue, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) >= 0 || errno != EAGAIN
    }

    /// Sends bytes without waiting; returns how many, and the `errno` that kept it from sending the rest, else 0.
    func send(_ bytes: ArraySlice<UInt8>) -> (count: Int, failure: Int32) {
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
                let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
                let count = Glibc.send(rawValue, rest.baseAddress, rest.count, flags)
                if count >= 0 { sent += count } else if errno != EINTR { return (sent, errno) }
            }
            return (sent, 0)
        }
    }

    /// Sets how long a call that sends or connects may wait; at least a microsecond, since zero means for ever.
    func setSendTimeout(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        setsockopt(rawValue, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Has the kernel say who sent each datagram that comes from now on (`SO_PASSCRED`; socket(7)).
    func passCredentials() throws(IOError) {
        guard linux_pass_credentials(rawValue) == 0 else { throw IOError(errno: errno, "cannot receive") }
    }

    /// Looks at what is first in a socket's queue, without receiving it or waiting: what recvmsg(2) returns, with its flags and `errno`.
    ///
    /// The flag `MSG_CTRUNC` means that descriptors came along, since there is no room for them here.
    private func peek(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, flags: Int32) {
        var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        return withUnsafeMutablePointer(to: &vector) { vector in
            var header = msghdr()
            header.msg_iov = vector
            header.msg_iovlen = 1
            let count = recvmsg(rawValue, &header, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK))
            return (count, header.msg_flags)
        }
    }
}

extension OwnedDescriptor {
    /// The number of descriptors kept for what the daemon itself opens, some of it for a moment: files, timers, workers.
    public static let reserve = 16

    /// How many descriptors this process may have.
    public static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether the next descriptor would be one of the reserve, or there is none: the kernel gives out the lowest number that is free.
    static func isInReserve(nextTo descriptor: Int32) -> Bool {
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if next >= 0 { close(next) }
        return next < 0 || Int(next) >= limit - reserve
    }

    /// Whether there is room for so many more at this moment.
    public static func hasRoom(for count: Int) -> Bool {
        let first = eventfd(0, Int32(EFD_CLOEXEC))
        guard first >= 0 else { return false }
        var opened = [first]
        while opened.count < count {
            let next = fcntl(first, F_DUPFD_CLOEXEC, 0)
            if next < 0 { break }
            opened.append(next)
        }
        for descriptor in opened { close(descriptor) }
        return opened.count == count
    }
}
