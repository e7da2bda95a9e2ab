// SPDX-License-Identifier: Apache-2.0

/// Reads JSON from bytes, value by value, as its caller asks for them.
///
/// Strict by RFC 8259: the text is UTF-8, has no comments and no trailing commas, no lone surrogates, and no object with two
/// members of one name. Nothing is copied but the strings that are asked for. It cannot be copied, so that it stays inside
/// the closure it is valid in.
public struct JSONReader: ~Copyable {
    /// How deeply objects and arrays may be nested unless the caller says otherwise.
    public static let defaultMaximumDepth = 32

    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the byte to be looked at next.
    var position = 0
    private var remainingDepth: Int
    /// Whether ``unknownMember(_:)`` skips what a type does not know.
    ///
    /// A service refuses what it does not know, and a client understands the replies of newer services.
    public var skipsUnknownMembers = false

    private init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) {
        self.bytes = bytes.assumingMemoryBound(to: UInt8.self)
        remainingDepth = maximumDepth
    }

    /// Reads one whole text: `body` reads its value, and nothing but white space may follow.
    public static func read<T>(
        _ bytes: UnsafeRawBufferPointer, maximumDepth: Int = defaultMaximumDepth,
        _ body: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T {
        var reader = JSONReader(bytes, maximumDepth: maximumDepth)
        reader.skipWhitespace()
        let value = try body(&reader)
        reader.skipWhitespace()
        guard reader.position == bytes.count else { throw reader.error(.syntax) }
        return value
    }

    /// Reads one whole text from an array.
    public static func read<T>(
        _ bytes: [UInt8], maximumDepth: Int = defaultMaximumDepth,
        _ body: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T {
        try read(bytes[...], maximumDepth: maximumDepth, body)
    }

    /// Reads one whole text from a part of an array.
    public static func read<T>(
        _ bytes: ArraySlice<UInt8>, maximumDepth: Int = defaultMaximumDepth,
        _ body: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T {
        try bytes.withUnsafeBufferPointer { bytes throws(JSONError) in
            try read(UnsafeRawBufferPointer(bytes), maximumDepth: maximumDepth, body)
        }
    }

    /// An error at the place the reader has come to, for a value that its type refuses.
    public func error(_ reason: JSONError.Reason) -> JSONError {
        JSONError(reason, offset: position)
    }

    /// Reads an object; `member` is called for each of its members, and reads its value.
    ///
    /// A value that `member` leaves unread is skipped. An error about a value's type is reported with the member's name.
    public mutating func object(
        _ member: (_ name: JSONName, inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        try open(UInt8(ascii: "{"), expected: "object")
        var names = MemberNames()
        var isLast = try closes(UInt8(ascii: "}"))
        while !isLast {
            if let name = try plainMemberName(&names) {
                try readMember(JSONName(bytes: name), member)
            } else {
                let name = try decodedMemberName(&names)
                try name.withUnsafeBufferPointer { name throws(JSONError) in
                    try readMember(JSONName(bytes: name), member)
                }
            }
            isLast = try ends(UInt8(ascii: "}"))
        }
        remainingDepth += 1
    }

    @inline(__always)
    private mutating func readMember(
        _ name: JSONName, _ member: (_ name: JSONName, inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        let start = position
        do throws(JSONError) {
            try member(name, &self)
        } catch {
            // That a type does not know the member itself names it already; an error from inside its value is further on.
            let isOwn = error.reason == .unknownMember(name.text) && error.offset <= start
            throw isOwn ? JSONError(error.reason, offset: start) : error.inside(name.text)
        }
        if position == start { try skip() }
    }

    /// Reads an array; `element` is called for each of its elements, and reads it or leaves it to be skipped.
    public mutating func array(_ element: (inout JSONReader) throws(JSONError) -> Void) throws(JSONError) {
        try open(UInt8(ascii: "["), expected: "array")
        var isLast = try closes(UInt8(ascii: "]"))
        while !isLast {
            let start = position
            try element(&self)
            if position == start { try skip() }
            isLast = try ends(UInt8(ascii: "]"))
        }
        remainingDepth += 1
    }

    /// Goes past the next value, whatever it is, checking it.
    public mutating func skip() throws(JSONError) {
        switch current {
        case UInt8(ascii: "\""):
            try skipString()
        case UInt8(ascii: "{"):
            try open(UInt8(ascii: "{"), expected: "object")
            var names = MemberNames()
            var isLast = try closes(UInt8(ascii: "}"))
            while !isLast {
                try skipMemberName(&names)
                try skip()
                isLast = try ends(UInt8(ascii: "}"))
            }
            remainingDepth += 1
        case UInt8(ascii: "["):
            try array { _ throws(JSONError) in }
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            _ = try boolean()
        case UInt8(ascii: "n"):
            guard try isNull() else { throw error(.syntax) }
        default:
            _ = try numberText()
        }
    }

    /// Refuses a member that a type does not know, or skips it (``skipsUnknownMembers``).
    public mutating func unknownMember(_ name: JSONName) throws(JSONError) {
        guard skipsUnknownMembers else { throw .unknownMember(name) }
        try skip()
    }

    /// The next value's own bytes, checked, without white space around them.
    public mutating func raw() throws(JSONError) -> [UInt8] {
        let range = try rawRange()
        return Array(bytes[range])
    }

    /// Where the next value is in the text; it is checked and skipped.
    mutating func rawRange() throws(JSONError) -> Range<Int> {
        let start = position
        try skip()
        return start..<position
    }
}

// MARK: - Structure
//
// Between two calls the position is at the first byte of a value, a name or a mark: white space is skipped behind each of them.

extension JSONReader {
    /// The byte to be looked at next; NUL, which is nowhere part of JSON, behind the end.
    var current: UInt8 {
        @inline(__always) get { position < bytes.count ? bytes[position] : 0 }
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
            default: return
            }
        }
    }

    private mutating func open(_ mark: UInt8, expected: String) throws(JSONError) {
        guard current == mark else { throw mismatch(expected) }
        guard remainingDepth > 0 else { throw error(.depth) }
        remainingDepth -= 1
        position &+= 1
        skipWhitespace()
    }

    /// Whether an object or array ends directly behind its beginning.
    private mutating func closes(_ mark: UInt8) throws(JSONError) -> Bool {
        guard current == mark else { return false }
        position &+= 1
        return true
    }

    /// Whether the object or array ends behind a value; a comma is consumed.
    private mutating func ends(_ mark: UInt8) throws(JSONError) -> Bool {
        skipWhitespace()
        if current == mark {
            position &+= 1
            return true
        }
        guard current == UInt8(ascii: ",") else { throw error(.syntax) }
        position &+= 1
        skipWhitespace()
        return false
    }

    @inline(__always)
    private mutating func colon() throws(JSONError) {
        skipWhitespace()
        guard current == UInt8(ascii: ":") else { throw error(.syntax) }
        position &+= 1
        skipWhitespace()
    }

    /// Reads a member's name and colon without a copy; returns nil, and consumes nothing, if the name must be decoded.
    @inline(__always)
    private mutating func plainMemberName(
        _ names: inout MemberNames
    ) throws(JSONError) -> UnsafeBufferPointer<UInt8>? {
        guard current == UInt8(ascii: "\"") else { throw error(.syntax) }
        guard let name = plainString() else { return nil }
        guard names.insert(NameHash.hash(name)) else {
            throw error(.duplicateMember(String(decoding: name, as: UTF8.self)))
        }
        try colon()
        return name
    }

    /// Reads a member's name that has escapes or non-ASCII characters, and its colon.
    private mutating func decodedMemberName(_ names: inout MemberNames) throws(JSONError) -> [UInt8] {
        let text = try string()
        let name = Array(text.utf8)
        guard names.insert(name.withUnsafeBufferPointer { NameHash.hash($0) }) else {
            throw error(.duplicateMember(text))
        }
        try colon()
        return name
    }

    private mutating func skipMemberName(_ names: inout MemberNames) throws(JSONError) {
        if try plainMemberName(&names) == nil { _ = try decodedMemberName(&names) }
    }

    /// The error where a value of another kind was expected: the fault is the text's where no value begins here at all.
    func mismatch(_ expected: String) -> JSONError {
        switch current {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""), UInt8(ascii: "-"),
            UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            error(.type(expected: expected))
        default:
            error(.syntax)
        }
    }
}
