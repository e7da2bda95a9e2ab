// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A file descriptor that is closed when its last reference is released.
public final class OwnedDescriptor: Sendable {
    /// The number, which is valid as long as this object lives.
    public let rawValue: Int32

    private let closing: Closing
    /// Whether it is a connection that ordinary users cannot have made.
    let isPrivileged: Bool

    /// How it is closed.
    private enum Closing {
        /// At once, because closing it never waits.
        case atOnce
        /// By a thread that may wait, because another process has opened it.
        case foreign
        /// By a thread that may wait if its queue has something, which may be descriptors of another process.
        case connection, receiver
    }

    /// Takes over a descriptor, which no other code may close.
    public convenience init(adopting descriptor: Int32) { self.init(adopting: descriptor, closing: .atOnce) }

    /// Takes over a descriptor that another process has opened and sent.
    ///
    /// Closing it may wait, as for a socket that lingers, so another thread does that wherever the last reference is released.
    package convenience init(adoptingForeign descriptor: Int32) { self.init(adopting: descriptor, closing: .foreign) }

    /// Takes over a connected Unix socket whose peer may send descriptors.
    ///
    /// - Parameters:
    ///   - descriptor: the socket.
    ///   - isPrivileged: whether ordinary users cannot have connected it.
    public convenience init(adoptingConnection descriptor: Int32, isPrivileged: Bool = false) {
        let isClean = linux_refuses_descriptors(descriptor)
        // Without this, some kernels (6.12, by its source) skip an out-of-band byte when the queue is looked at, and the next recv(2)
        // releases the descriptors that came with it.
        var inLine: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_OOBINLINE, &inLine, socklen_t(MemoryLayout<Int32>.size))
        // Additions would count as descriptors, because there is no room for either.
        linux_refuse_additions(descriptor)
        self.init(adopting: descriptor, closing: isClean ? .atOnce : .connection, isPrivileged: isPrivileged)
    }

    /// Takes over a bound datagram socket, to which others may send descriptors.
    public convenience init(adoptingReceiver descriptor: Int32) {
        self.init(adopting: descriptor, closing: .receiver)
    }

    private init(adopting descriptor: Int32, closing: Closing, isPrivileged: Bool = false) {
        rawValue = descriptor
        self.closing = closing
        self.isPrivileged = isPrivileged
    }

    /// Whether so many connections are being closed, each with a descriptor, that no others should be accepted.
    ///
    /// - Parameter isPrivileged: whether the others are not those of ordinary users. Even if all connections of one kind are being closed,
    ///   some of the other kind can be accepted.
    public static func areTooManyClosing(isPrivileged: Bool) -> Bool {
        let ordinary = ForeignSocket.closingCount(isPrivileged: false)
        return isPrivileged
            ? ordinary + ForeignSocket.closingCount(isPrivileged: true) > limit / 2
            : ordinary > limit / 16 || SystemCallThreads.connections.isBehind
    }

    /// Whether threads that may wait are closing connections.
    public static var isClosing: Bool { SystemCallThreads.connections.count > 0 }

    /// Creates a pipe with a non-blocking reading end; nil if there are no descriptors for it.
    public static func makePipe() -> (reading: OwnedDescriptor, writing: OwnedDescriptor)? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (OwnedDescriptor(adopting: ends[0]), OwnedDescriptor(adopting: ends[1]))
    }

    deinit {
        switch closing {
        case .atOnce: close(rawValue)
        case .foreign: SystemCallThreads.descriptors.perform { [rawValue] in close(rawValue) }
        case .receiver: finish(by: .datagrams) { isUnreadReceiver ? .max : 0 }
        case .connection: finish(by: .connections) { unreadCount }
        }
    }

    private func finish(by threads: SystemCallThreads, _ unreadCount: () -> Int) {
        // After this, nothing is added to the queue.
        shutdown(rawValue, Int32(SHUT_RDWR))
        let unreadCount = unreadCount()
        guard unreadCount > 0 else { return _ = close(rawValue) }
        threads.perform { [rawValue] in
            // close(2) would receive everything at once.
            ReceivingShare.receiveAll(unreadCount, busyCount: { threads.busyCount }) { Self.discard($0, of: rawValue) }
            close(rawValue)
        }
    }

    /// The number of unread bytes of a connection; `Int.max` if it is unknown.
    var unreadCount: Int {
        var unread: Int32 = 0
        return ioctl(rawValue, UInt(FIONREAD), &unread) == 0 ? Int(unread) : .max
    }

    /// Whether there is a datagram, even an empty one.
    private var isUnreadReceiver: Bool {
        var byte: UInt8 = 0
        return withUnsafeMutableBytes(of: &byte) { peek(into: $0).count } >= 0
    }
}

extension OwnedDescriptor {
    /// Receives bytes of a connection without waiting; returns what recv(2) does.
    ///
    /// `EPROTO` means that descriptors came along.
    ///
    /// In that case the connection must be closed. The descriptors stay in the queue: if the bytes were taken, the kernel would close the
    /// descriptors, and wait.
    public func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard case .connection = closing else {
            return recv(rawValue, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        let count = look(into: buffer)
        return count > 0 ? recv(rawValue, buffer.baseAddress, count, Int32(MSG_DONTWAIT)) : count
    }

    /// Looks at the next bytes without receiving them; returns what ``receive(into:)`` would.
    public func look(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (count, flags) = peek(into: buffer)
        guard count > 0, flags & Int32(MSG_CTRUNC) != 0 else { return count }
        errno = EPROTO
        return -1
    }

    /// Receives and drops up to `count` bytes; returns what recv(2) does.
    func discard(_ count: Int) -> Int { Self.discard(count, of: rawValue) }

    /// Does the same, but returns -1 if descriptors came along, which stay in the queue.
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

    /// Whether recv(2) would return anything but `EAGAIN`.
    var isReadable: Bool {
        var byte: UInt8 = 0
        return recv(rawValue, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) >= 0 || errno != EAGAIN
    }

    /// Sends bytes without waiting; returns how many were sent, and the `errno` that prevented the rest, or 0.
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

    /// Limits how long a call that sends or connects may wait; at least a microsecond, because zero means for ever.
    func setSendTimeout(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        setsockopt(rawValue, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Makes the kernel report the sender of each datagram from now on (`SO_PASSCRED`; socket(7)).
    func passCredentials() throws(IOError) {
        guard linux_pass_credentials(rawValue) == 0 else { throw IOError(errno: errno, "cannot receive") }
    }

    /// Looks at the start of a socket's queue without receiving or waiting; returns recvmsg(2)'s result and flags.
    ///
    /// The flag `MSG_CTRUNC` means that descriptors came along, because there is no room for them here.
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
    /// The number of descriptors reserved for files, timers and workers that the program itself opens, some of them only briefly.
    public static let reserve = 16

    /// The maximum number of descriptors of this process.
    public static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether the next descriptor is in the reserve, or there is none.
    ///
    /// The kernel uses the lowest free number.
    static func isInReserve(nextTo descriptor: Int32) -> Bool {
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if next >= 0 { close(next) }
        return next < 0 || Int(next) >= limit - reserve
    }

    /// Whether the process can open `count` more descriptors now.
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
