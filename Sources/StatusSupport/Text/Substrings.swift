// SPDX-License-Identifier: Apache-2.0

import Glibc

extension String {
    /// Whether another text occurs in this one, byte for byte; neither may contain NUL.
    ///
    /// The one of the standard library would link Swift's regular expressions (packaging/build).
    package func contains(_ text: String) -> Bool { strstr(self, text) != nil }

    /// Whether another text occurs in this one; `text` is in lower case, and ASCII letters of this one may be in any.
    ///
    /// It makes no copy in lower case, because a list of 100,000 servers is searched for each key.
    package func contains(lowercased text: [UInt8]) -> Bool {
        var copy = self
        return copy.withUTF8 { bytes in
            guard let first = text.first, bytes.count >= text.count else { return text.isEmpty }
            for start in 0...bytes.count - text.count where Self.lowercased(bytes[start]) == first {
                if (1..<text.count).allSatisfy({ Self.lowercased(bytes[start + $0]) == text[$0] }) { return true }
            }
            return false
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }
}
