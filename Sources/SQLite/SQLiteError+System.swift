// SPDX-License-Identifier: Apache-2.0

import Glibc

extension SQLiteError {
    /// The system's words for an error number, in lower case as a part of a sentence.
    static func systemReason(_ number: Int32) -> String {
        let words = String(cString: strerror(number))
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}
