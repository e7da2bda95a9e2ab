// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A member's name in the memory of the message, which is compared with literals without allocating a string.
///
/// It is valid only while the closure that received it runs.
public struct JSONName: CustomStringConvertible {
    let bytes: UnsafeBufferPointer<UInt8>

    /// The name as a string.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public var description: String { text }

    public static func == (name: JSONName, other: StaticString) -> Bool {
        guard name.bytes.count == other.utf8CodeUnitCount else { return false }
        guard let start = name.bytes.baseAddress else { return true }
        return memcmp(start, other.utf8Start, name.bytes.count) == 0
    }

    /// Matches a name against the literals of a `switch`.
    public static func ~= (pattern: StaticString, name: JSONName) -> Bool { name == pattern }
}

extension JSONError {
    /// The error for an unknown member.
    public static func unknownMember(_ name: JSONName) -> JSONError { .unknownMember(name.text) }
}
