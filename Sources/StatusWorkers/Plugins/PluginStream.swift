// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// What a plugin writes to one of its streams.
struct PluginStream {
    /// How many bytes are kept; what is more is read and forgotten.
    private static let limit = 8192

    private var bytes: [UInt8] = []
    /// Where it is read; nil after the end.
    private(set) var descriptor: OwnedDescriptor?

    init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    /// How the stream began.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Reads what there is now, but no more than a pipe holds.
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
