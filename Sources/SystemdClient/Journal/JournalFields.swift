// SPDX-License-Identifier: Apache-2.0

/// The fields of one journal entry, as the journal's native protocol expects them.
///
/// journald silently drops a field with an invalid name, so the names of keys are made valid here: `[A-Z0-9_]`, at most
/// 64 characters, not beginning with a digit or an underscore (reserved for journald).
struct JournalFields {
    /// The entry's `NAME=value` strings, one after the other.
    private(set) var bytes: [UInt8] = []
    /// The range of each of them in `bytes`.
    private(set) var ranges: [Range<Int>] = []

    private static let maximumNameLength = 64

    /// Appends a field whose name is known to be valid.
    mutating func append(_ name: String, _ value: String) {
        let start = bytes.count
        bytes += name.utf8
        bytes.append(UInt8(ascii: "="))
        bytes += value.utf8
        ranges.append(start..<bytes.count)
    }

    /// Returns a valid name for a metadata key, in upper case and with a prefix, which must be valid; nil if nothing is
    /// left without leading digits and underscores.
    static func name(for key: String, prefix: String) -> String? {
        var name: [UInt8] = Array(prefix.utf8)
        for byte in key.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): name.append(byte - 0x20)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): name.append(byte)
            default: name.append(UInt8(ascii: "_"))
            }
        }
        let valid = name.drop { $0 == UInt8(ascii: "_") || ($0 >= 0x30 && $0 <= 0x39) }
        return valid.isEmpty ? nil : String(decoding: valid.prefix(maximumNameLength), as: UTF8.self)
    }
}
