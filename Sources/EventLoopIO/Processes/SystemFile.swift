// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// Reads small files that answer at once, such as the kernel's (proc(5)).
package enum SystemFile {
    /// Returns the text of a file; nil if it cannot be opened.
    package static func text(at path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        return text(of: file)
    }

    /// Returns the rest of an open file.
    package static func text(of file: UnsafeMutablePointer<FILE>) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
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
