// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A file descriptor that is closed when its last reference is released.
public final class OwnedDescriptor: Sendable {
    /// The number, which is valid as long as this object lives.
    public let rawValue: Int32

    /// Takes over a descriptor, which no other code may close.
    public init(adopting descriptor: Int32) { rawValue = descriptor }

    /// Creates a pipe with a non-blocking reading end; nil if there are no descriptors for it.
    package static func makePipe() -> (reading: OwnedDescriptor, writing: OwnedDescriptor)? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (OwnedDescriptor(adopting: ends[0]), OwnedDescriptor(adopting: ends[1]))
    }

    /// Creates a non-blocking socket.
    package static func makeSocket(
        _ family: Int32, _ type: Int32, protocol number: Int32 = 0
    ) throws(IOError) -> OwnedDescriptor {
        let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type | flags, number)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot create a socket") }
        return OwnedDescriptor(adopting: descriptor)
    }

    deinit { close(rawValue) }
}

extension OwnedDescriptor {
    /// Receives messages, and everything that came with them, without waiting.
    ///
    /// There is room for all descriptors that a message can carry: the kernel would close those without room during
    /// this call, which may block. They must be closed (``ForeignDescriptors/close(_:)``).
    ///
    /// - Parameters:
    ///   - maximum: the number of messages, at most `LINUX_MAX_MESSAGES`.
    ///   - room: the same number of bytes for each message.
    ///   - arrivals: one for each message.
    /// - Returns: the number of messages, or -1, with its `errno`. At the end of a stream it is an empty message.
    func receive(
        _ maximum: Int, into room: UnsafeMutableRawBufferPointer, _ arrivals: UnsafeMutablePointer<linux_arrival>
    ) -> Int {
        var count: Int32
        repeat {
            count = linux_receive(rawValue, room.baseAddress, room.count / maximum, arrivals, UInt32(maximum))
        } while count < 0 && errno == EINTR
        return Int(count)
    }

    /// Receives one message without waiting.
    ///
    /// - Returns: its bytes, 0 at the end of a stream, or -1, with its `errno`; and the descriptors that came along,
    ///   which must be closed.
    func receiveMessage(into room: UnsafeMutableRawBufferPointer) -> (length: Int, descriptors: [Int32]) {
        var arrival = linux_arrival()
        return receive(1, into: room, &arrival) < 0 ? (-1, []) : (arrival.length, arrival.allDescriptors)
    }

    /// Receives bytes of a stream without waiting; returns what recv(2) does.
    ///
    /// Fails with `EPROTO` if descriptors came along, because no caller accepts any.
    package func receiveBytes(into room: UnsafeMutableRawBufferPointer) -> Int {
        let (length, descriptors) = receiveMessage(into: room)
        guard descriptors.isEmpty else {
            ForeignDescriptors.close(descriptors)
            errno = EPROTO
            return -1
        }
        return length
    }

    /// Takes a report about a datagram that was not delivered (`IP_RECVERR` in ip(7)); nil if there is none.
    ///
    /// - Returns: the number of bytes of the datagram in the report, and the errno.
    func receiveReport(into room: inout [UInt8]) -> (length: Int, number: Int32)? {
        var number: Int32 = 0
        let length = linux_receive_error(rawValue, &room, room.count, &number)
        return length < 0 ? nil : (length, number)
    }

    /// Shuts a connection down at once, and closes unread descriptors in its queue on another thread.
    package func closeConnection() {
        shutdown(rawValue, Int32(SHUT_RDWR))
        var unread: Int32 = 0
        if ioctl(rawValue, UInt(FIONREAD), &unread) != 0 || unread > 0 {
            ForeignDescriptors.drain(self, isStream: true)
        }
    }

    /// Limits how long sending or connecting may block; at least a microsecond, because zero means no limit.
    func setSendTimeout(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        setsockopt(rawValue, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Turns on an option of a socket (socket(7), tcp(7)); returns false if that fails.
    @discardableResult
    func turnOn(_ option: Int32, of level: Int32 = SOL_SOCKET) -> Bool {
        var on: Int32 = 1
        return setsockopt(rawValue, level, option, &on, socklen_t(MemoryLayout<Int32>.size)) == 0
    }
}

extension linux_arrival {
    /// The descriptors that came along.
    var allDescriptors: [Int32] {
        count == 0 ? [] : withUnsafeBytes(of: descriptors) { Array($0.bindMemory(to: Int32.self).prefix(count)) }
    }
}

extension OwnedDescriptor {
    /// The number of descriptors reserved for the program's own files, timers and workers.
    package static let reserve = 16

    /// The maximum number of descriptors of this process.
    package static var limit: Int { Int(clamping: limits?.rlim_cur ?? 1024) }

    /// Raises ``limit`` as far as this user may.
    ///
    /// Programs that this process starts (``ProcessStart``) get the former limit: some use select(2), or close all
    /// descriptors up to the limit.
    package static func raiseLimit() {
        guard let former = formerLimits else { return }
        var limits = former
        limits.rlim_cur = limits.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    }

    /// The limits with which this process was started.
    private static let formerLimits = limits

    private static var limits: rlimit? {
        var limits = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 ? limits : nil
    }

    /// Gives a program that this process has started the limit of before ``raiseLimit()``.
    static func restoreLimit(of process: pid_t) {
        guard let former = formerLimits else { return }
        linux_set_limit(process, Int32(RLIMIT_NOFILE.rawValue), UInt64(former.rlim_cur), UInt64(former.rlim_max))
    }

    /// Whether the next descriptor would be in the reserve, or cannot be opened.
    ///
    /// The kernel uses the lowest free number.
    static func isInReserve(nextTo descriptor: Int32) -> Bool {
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if next >= 0 { close(next) }
        return next < 0 || Int(next) >= limit - reserve
    }

    /// Whether the process can now open a descriptor that is not in the reserve.
    package static var hasRoom: Bool {
        let probe = eventfd(0, Int32(EFD_CLOEXEC))
        if probe >= 0 { close(probe) }
        return probe >= 0 && Int(probe) < limit - reserve
    }
}
