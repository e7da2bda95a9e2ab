// SPDX-License-Identifier: Apache-2.0

/// Reads JSON from bytes, value by value, as its caller requests them.
///
/// It is strict (RFC 8259): the text must be UTF-8 without comments, trailing commas or lone surrogates. Of members
/// with the same name, the last one counts. Only the strings that are requested are copied.
///
/// It cannot be copied, so it stays inside the closure in which it is valid.
public struct JSONReader: ~Copyable {
    /// The default limit for nested objects and arrays.
    public static let defaultMaximumDepth = 32

    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte.
    var position = 0
    private var remainingDepth: Int
    /// Whether ``unknownMember(_:)`` skips a member instead of throwing.
    ///
    /// A service refuses unknown members. A client skips them, so that it understands newer services.
    public var skipsUnknownMembers = false

    private init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) {
        self.bytes = bytes.assumingMemoryBound(to: UInt8.self)
        remainingDepth = maximumDepth
    }

    /// Reads a whole text: `body` reads its value, which only white space may follow.
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

    /// Reads a whole text from an array.
    public static func read<T>(
        _ bytes: [UInt8], maximumDepth: Int = defaultMaximumDepth,
        _ body: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T {
        try read(bytes[...], maximumDepth: maximumDepth, body)
    }

    /// Reads a whole text from a slice of an array.
    public static func read<T>(
        _ bytes: ArraySlice<UInt8>, maximumDepth: Int = defaultMaximumDepth,
        _ body: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T {
        try bytes.withUnsafeBufferPointer { bytes throws(JSONError) in
            try read(UnsafeRawBufferPointer(bytes), maximumDepth: maximumDepth, body)
        }
    }

    /// Creates the error for a value that its type refuses, at the current position.
    public func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason, offset: position) }

    /// Reads an object.
    ///
    /// An error about a value's type is reported with the member's name.
    ///
    /// - Parameter member: called for each member. A value that it does not read is skipped.
    public mutating func object(
        _ member: (_ name: JSONName, inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        try open(UInt8(ascii: "{"), expected: "object")
        var isLast = try closes(UInt8(ascii: "}"))
        while !isLast {
            if let name = try plainMemberName() {
                try readMember(JSONName(bytes: name), member)
            } else {
                let name = try decodedMemberName()
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
            // The error already names an unknown member. An error inside the value has a larger offset.
            let isOwn = error.offset <= start && error.reason == .unknownMember(name.text)
            throw isOwn ? JSONError(error.reason, offset: start) : error.inside(name.text)
        }
        if position == start { try skip() }
    }

    /// Reads an array.
    ///
    /// - Parameter element: called for each element. An element that it does not read is skipped.
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

    /// Reads past the next value, checking it.
    public mutating func skip() throws(JSONError) {
        switch current {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "{"):
            try open(UInt8(ascii: "{"), expected: "object")
            var isLast = try closes(UInt8(ascii: "}"))
            while !isLast {
                if try plainMemberName() == nil { _ = try decodedMemberName() }
                try skip()
                isLast = try ends(UInt8(ascii: "}"))
            }
            remainingDepth += 1
        case UInt8(ascii: "["): try array { _ throws(JSONError) in }
        case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try boolean()
        case UInt8(ascii: "n"):
            guard try isNull() else { throw error(.syntax) }
        default:
            _ = try numberText()
        }
    }

    /// Throws for an unknown member, or skips it (``skipsUnknownMembers``).
    public mutating func unknownMember(_ name: JSONName) throws(JSONError) {
        guard skipsUnknownMembers else { throw .unknownMember(name) }
        try skip()
    }

    /// Reads the bytes of the next value, checked and without white space around them.
    public mutating func raw() throws(JSONError) -> [UInt8] {
        let range = try rawRange()
        return Array(bytes[range])
    }

    /// Reads past the next value, checking it, and returns its range.
    mutating func rawRange() throws(JSONError) -> Range<Int> {
        let start = position
        try skip()
        return start..<position
    }
}

// MARK: - Structure
// Between two calls the position is at the first byte of a value, name or mark, because each call skips the white space
// after what it reads.

extension JSONReader {
    /// The next byte; at the end NUL, which JSON never contains.
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

    /// Whether an object or array is empty.
    private mutating func closes(_ mark: UInt8) throws(JSONError) -> Bool {
        guard current == mark else { return false }
        position &+= 1
        return true
    }

    /// Whether the object or array ends here; otherwise reads past a comma.
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

    /// Reads a member's name and colon in place.
    ///
    /// Returns nil and reads nothing if the name must be decoded.
    @inline(__always)
    private mutating func plainMemberName() throws(JSONError) -> UnsafeBufferPointer<UInt8>? {
        guard current == UInt8(ascii: "\"") else { throw error(.syntax) }
        guard let name = plainString() else { return nil }
        try colon()
        return name
    }

    /// Reads a member's name that has escapes or non-ASCII characters, and its colon.
    private mutating func decodedMemberName() throws(JSONError) -> [UInt8] {
        let name = Array(try string().utf8)
        try colon()
        return name
    }

    /// Creates the error for a value of another type than expected.
    ///
    /// If no value begins here, the text is not JSON.
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
