// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An entry of a directory: a file, or a directory that leads to it.
struct FileEntry: Sendable, Equatable {
    let directory: String
    /// A name, or a glob(7) pattern.
    let name: String
    let isPattern: Bool
    /// Whether it is the file itself.
    let isFile: Bool

    /// The entries of an absolute path, from the root to the file.
    ///
    /// - Parameter isPattern: whether the last component is a pattern.
    static func entries(of path: String, isPattern: Bool) -> [FileEntry] {
        let names = path.split(separator: "/")
        return names.indices.map { index in
            let isFile = index == names.endIndex - 1
            return FileEntry(
                directory: "/" + names[..<index].joined(separator: "/"), name: String(names[index]),
                isPattern: isPattern && isFile, isFile: isFile)
        }
    }

    /// Whether a pattern matches the name of a file; it does not match hidden names.
    static func matches(_ pattern: String, _ name: [UInt8]) -> Bool {
        (name + [0]).withUnsafeBytes { bytes in
            bytes.assumingMemoryBound(to: CChar.self).baseAddress.map { fnmatch(pattern, $0, FNM_PERIOD) == 0 } ?? false
        }
    }
}
