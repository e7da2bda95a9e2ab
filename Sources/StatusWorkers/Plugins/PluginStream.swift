// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// One output stream of a plugin.
struct PluginStream {
    /// The number of bytes to keep; the rest is read and dropped.
    private static let limit = 8192

    private var bytes: [UInt8] = []
    /// The descriptor to read; nil after the end.
    private(set) var descriptor: OwnedDescriptor?

    init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    /// The beginning of the stream.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Reads what is there, but no more than a pipe holds.
    mutating func read() {
        guard let descriptor else { return }
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        let count = Glibc.read(descriptor.rawValue, &chunk, chunk.count)
        if count > 0 {
            bytes += chunk.prefix(min(count, Self.limit - bytes.count))
        } else if count == 0 || errno != EAGAIN {
            self.descriptor = nil
        }
    }
}
