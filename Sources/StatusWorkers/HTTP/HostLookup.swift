// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Looks up a host again to find out why libcurl could not, which it does not say.
enum HostLookup {
    /// Returns the result of getaddrinfo(3); nil if there is none within `limit`, or if the daemon disconnects.
    ///
    /// The lookup has a thread of its own, which then continues, because it cannot be stopped.
    static func result(_ host: String, within limit: Duration) -> Int32? {
        guard let (reading, writing) = OwnedDescriptor.makePipe() else { return EAI_MEMORY }
        BlockingThread.start {
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            var result = getaddrinfo(host, nil, &hints, &list)
            freeaddrinfo(list)
            // Fails if nobody waits any more.
            _ = write(writing.rawValue, &result, MemoryLayout<Int32>.size)
        }
        var ends = [reading.rawValue, STDIN_FILENO].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        poll(&ends, 2, Int32(max(0, min(limit / .milliseconds(1), 1e9))))
        var result: Int32 = 0
        return read(reading.rawValue, &result, MemoryLayout<Int32>.size) > 0 ? result : nil
    }
}
