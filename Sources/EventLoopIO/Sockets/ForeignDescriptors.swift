// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Closes descriptors that other processes have sent, on one thread, because close(2) may block.
///
/// Closing a TCP socket with SO_LINGER waits until its peer has read everything, so lingering is switched off first.
/// Received descriptors are never used.
enum ForeignDescriptors {
    private static let thread = Outbox<@Sendable () -> Void>(capacity: .max) { work in
        work()
    } reportLoss: { _ in
    }

    /// Closes descriptors that came with received bytes.
    static func close(_ descriptors: [Int32]) { perform { closeNow(descriptors) } }

    /// Empties a socket's queue, so that the last close(2) on another thread does not close the descriptors in it.
    ///
    /// Nothing more can arrive, because the caller has shut the socket down for reading.
    ///
    /// - Parameter isStream: whether zero bytes mean the end of the stream, and not an empty datagram.
    static func drain(_ socket: OwnedDescriptor, isStream: Bool) {
        perform {
            withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { room in
                var length: Int
                repeat {
                    let received = socket.receiveMessage(into: room)
                    length = received.length
                    closeNow(received.descriptors)
                } while length > 0 || length == 0 && !isStream
            }
        }
    }

    private static func perform(_ work: @escaping @Sendable () -> Void) { thread.post(work, size: 1) }

    private static func closeNow(_ descriptors: [Int32]) {
        for descriptor in descriptors {
            var off = linger(l_onoff: 0, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &off, socklen_t(MemoryLayout<linger>.size))
            Glibc.close(descriptor)
        }
    }
}
