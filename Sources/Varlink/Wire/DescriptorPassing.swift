// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

/// The file descriptors that travel with a connection's messages (`SCM_RIGHTS`; unix(7)).
///
/// They are sent with the first byte of their message, as sd-varlink does. A read that may bring descriptors takes that
/// byte alone, and no byte beyond the message. So descriptors belong to exactly one message.
@EventLoop
final class DescriptorPassing {
    /// Descriptors to send with a message, whose bytes are at `range` of the stream.
    private struct Outgoing {
        let range: Range<Int>
        let descriptors: [OwnedDescriptor]
    }

    /// Descriptors that came with a message, which begins at `start` of the stream.
    private struct Incoming {
        let start: Int
        let descriptors: [OwnedDescriptor]
    }

    private var outgoing: [Outgoing] = []
    private var incoming: [Incoming] = []
    /// How many bytes were sent and received.
    private var sent = 0, received = 0
    /// The descriptors of the message that is being handled.
    private(set) var current: [OwnedDescriptor] = []

    /// The most descriptors that a message can have.
    static let maximumOfMessage = Int(LINUX_MAX_DESCRIPTORS)
    /// How many descriptors of all connections wait until their message is complete.
    private static var waiting = 0
    /// The limit for that.
    private static var maximumWaiting: Int { max(maximumOfMessage, OwnedDescriptor.limit / 4) }

    static let isNotAllowed = IOError(.systemCall, "cannot pass descriptors: not allowed on this connection")

    // MARK: Sending

    /// Throws if a message cannot have these descriptors.
    static func check(_ descriptors: [OwnedDescriptor], on transport: Transport) throws(IOError) {
        guard !descriptors.isEmpty else { return }
        if transport.passing == nil { throw isNotAllowed }
        guard descriptors.count <= maximumOfMessage else {
            throw IOError(
                .systemCall, "cannot pass \(descriptors.count) descriptors: a message has at most \(maximumOfMessage)")
        }
    }

    /// Attaches descriptors to the message at `range` of the output.
    func attach(_ descriptors: [OwnedDescriptor], to range: Range<Int>) {
        guard !descriptors.isEmpty, !range.isEmpty else { return }
        outgoing.append(Outgoing(range: sent + range.lowerBound..<sent + range.upperBound, descriptors: descriptors))
    }

    /// Sends the front of the output, with the descriptors of a message that begins there.
    ///
    /// Returns what send(2) does.
    func send(_ bytes: UnsafeBufferPointer<UInt8>, to socket: OwnedDescriptor) -> Int {
        guard let next = outgoing.first else { return send(bytes.prefix(bytes.count), [], to: socket) }
        // A message with descriptors begins a send of its own, so that other receivers can tell whose they are.
        guard next.range.lowerBound == sent else {
            return send(bytes.prefix(next.range.lowerBound - sent), [], to: socket)
        }
        let count = send(bytes.prefix(next.range.count), next.descriptors.map(\.rawValue), to: socket)
        if count > 0 { outgoing.removeFirst() }
        return count
    }

    private func send(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ descriptors: [Int32], to socket: OwnedDescriptor)
        -> Int
    {
        let bytes = UnsafeBufferPointer(rebasing: bytes)
        let count = linux_send_descriptors(
            socket.rawValue, bytes.baseAddress, bytes.count, descriptors, descriptors.count)
        sent += max(count, 0)
        return count
    }

    /// Drops what was not sent.
    func dropOutput() { outgoing = [] }

    // MARK: Receiving

    /// Receives bytes; returns what recv(2) does.
    ///
    /// It fails with `EPROTO` if descriptors came in the middle of a message, or too many of them.
    ///
    /// - Parameter isAtStart: whether the next byte begins a message.
    func receive(into room: UnsafeMutableRawBufferPointer, isAtStart: Bool, from socket: OwnedDescriptor) -> Int {
        var areNear = false
        let count = linux_peek_stream(socket.rawValue, room.baseAddress, room.count, &areNear)
        guard count > 0 else { return count }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: room[..<count])
        if !areNear { return receive(into: bytes, mayBring: false, from: socket) }
        guard isAtStart else { return receiveToEnd(into: bytes, from: socket) }
        let first = receive(
            into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<1]), mayBring: true, from: socket)
        guard first == 1, count > 1, bytes[0] != 0 else { return first }
        let rest = receiveToEnd(into: UnsafeMutableRawBufferPointer(rebasing: bytes[1...]), from: socket)
        if rest < 0 { return errno == EPROTO ? rest : first }
        return first + rest
    }

    /// Receives the rest of a message, as far as it has come.
    private func receiveToEnd(into bytes: UnsafeMutableRawBufferPointer, from socket: OwnedDescriptor) -> Int {
        let end = bytes.firstIndex(of: 0) ?? bytes.count - 1
        return receive(into: UnsafeMutableRawBufferPointer(rebasing: bytes[...end]), mayBring: false, from: socket)
    }

    private func receive(
        into bytes: UnsafeMutableRawBufferPointer, mayBring: Bool, from socket: OwnedDescriptor
    ) -> Int {
        let size: Int? = withUnsafeTemporaryAllocation(of: Int32.self, capacity: Self.maximumOfMessage) { numbers in
            var (count, areLost) = (0, false)
            let size = linux_receive_descriptors(
                socket.rawValue, bytes.baseAddress, bytes.count, numbers.baseAddress, &count, &areLost)
            let descriptors = numbers[..<count].map { OwnedDescriptor(adoptingForeign: $0) }
            if areLost || count > 0 && !(mayBring && Self.waiting + count <= Self.maximumWaiting) {
                return nil
            }
            if count > 0 {
                incoming.append(Incoming(start: received, descriptors: descriptors))
                Self.waiting += count
            }
            received += max(size, 0)
            return size
        }
        if let size { return size }
        // Set last, because closing descriptors changes it.
        errno = EPROTO
        return -1
    }

    // MARK: Messages

    /// Starts handling a message of `length` bytes, after which `unread` bytes are left.
    func beginMessage(length: Int, unread: Int) {
        endMessage()
        guard let next = incoming.first, next.start == received - unread - length else { return }
        incoming.removeFirst()
        Self.waiting -= next.descriptors.count
        current = next.descriptors
    }

    /// Closes the message's descriptors, unless somebody holds them.
    func endMessage() { current = [] }

    /// Closes all descriptors.
    func close() {
        endMessage()
        dropOutput()
        for message in incoming { Self.waiting -= message.descriptors.count }
        incoming = []
    }
}
