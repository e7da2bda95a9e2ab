// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Writes to standard output and standard error, which other processes may share.
package enum StandardOutput {
    /// Writes all of a text.
    ///
    /// It waits for room, even if another process has made the descriptor non-blocking.
    ///
    /// - Returns: the error number (errno(3)), such as `EPIPE`; 0 on success.
    @discardableResult
    package static func write(_ text: String, to descriptor: Int32) -> Int32 {
        write(Array(text.utf8)[...], to: descriptor)
    }

    /// Writes all of these bytes; otherwise like ``write(_:to:)-(String,_)``.
    package static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int32 {
        var bytes = bytes
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN {
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&room, 1, -1)
                continue
            }
            guard count >= 0 else { return errno }
            bytes = bytes.dropFirst(count)
        }
        return 0
    }
}
