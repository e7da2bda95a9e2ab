// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// Reads small files that answer at once, such as the kernel's (proc(5)).
package enum SystemFile {
    /// Returns the text of a file, cut to a number of bytes; nil if it cannot be opened.
    package static func text(at path: String, limit: Int = .max) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        return text(of: file, limit: limit)
    }

    /// Returns the rest of an open file, cut to a number of bytes.
    package static func text(of file: UnsafeMutablePointer<FILE>, limit: Int = .max) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count < limit,
            case let count = fread(&chunk, 1, min(chunk.count, limit - bytes.count), file), count > 0
        {
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a path without links; if it leads to nothing, the path of the first part that is missing or closed.
    ///
    /// This is realpath(3) of the GNU C library, which also says where it failed.
    package static func target(of path: String) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return path }
            buffer.initialize(repeating: 0)
            let isFound = realpath(path, start) != nil
            return isFound || [ENOENT, EACCES].contains(errno) ? String(cString: start) : path
        }
    }
}
