// SPDX-License-Identifier: Apache-2.0

import StatusSupport

extension JSONReader {
    /// Reads a string.
    ///
    /// A combining grapheme joiner follows 30 combining characters in a row (UAX #15, Stream-Safe Text Format), so that
    /// comparing and hashing the string takes time proportional to its length.
    public mutating func string() throws(JSONError) -> String {
        guard current == UInt8(ascii: "\"") else { throw mismatch("string") }
        guard let plain = plainString() else { return try anyString() }
        // The scan has shown that the bytes are ASCII.
        return String(copying: UTF8Span(unchecked: plain.span, isKnownASCII: true))
    }

    /// Reads a string of ASCII without escapes in place.
    ///
    /// Returns nil and reads nothing if it is not such a string.
    @inline(__always)
    mutating func plainString() -> UnsafeBufferPointer<UInt8>? {
        let start = position &+ 1
        let end = ByteScanning.endOfPlainRun(bytes, from: start, asciiOnly: true)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
        position = end &+ 1
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
    }

    /// Reads past a string, checking it.
    mutating func skipString() throws(JSONError) {
        if plainString() != nil { return }
        position &+= 1
        while true {
            try check(try plainRun())
            if current == UInt8(ascii: "\"") { break }
            _ = try escapedCharacter()
        }
        position &+= 1
    }

    /// Whether the part of a string between two escapes is UTF-8.
    ///
    /// No character spans an escape.
    private func check(_ run: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        guard (try? UTF8Span(validating: run.span)) != nil else { throw error(.encoding) }
    }

    /// Reads a string that has escapes or characters beyond ASCII.
    private mutating func anyString() throws(JSONError) -> String {
        position &+= 1
        var run = try plainRun()
        if current == UInt8(ascii: "\"") {
            position &+= 1
            return try text(run)
        }
        var decoded = Array(run)
        while current != UInt8(ascii: "\"") {
            repeat {
                let character = try escapedCharacter()
                if character.isASCII {
                    decoded.append(UInt8(truncatingIfNeeded: character.value))
                } else {
                    decoded.append(contentsOf: UTF8.encode(character) ?? UTF8.encodedReplacementCharacter)
                }
            } while current == UInt8(ascii: "\\")
            run = try plainRun()
            decoded.append(contentsOf: run)
        }
        position &+= 1
        return try decoded.withUnsafeBufferPointer { bytes throws(JSONError) in try text(bytes) }
    }

    /// Returns the bytes up to the next quotation mark or backslash, whose encoding is not checked yet.
    private mutating func plainRun() throws(JSONError) -> UnsafeBufferPointer<UInt8> {
        let start = position
        position = ByteScanning.endOfPlainRun(bytes, from: start, asciiOnly: false)
        guard current == UInt8(ascii: "\"") || current == UInt8(ascii: "\\") else { throw error(.syntax) }
        return UnsafeBufferPointer(rebasing: bytes[start..<position])
    }

    private func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error(.encoding) }
        return StreamSafeText.text(text)
    }

    /// Decodes the escape at the position.
    private mutating func escapedCharacter() throws(JSONError) -> Unicode.Scalar {
        position &+= 1
        guard position < bytes.count else { throw error(.syntax) }
        let mark = bytes[position]
        position &+= 1
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(mark)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try escapedScalar()
        default: throw error(.syntax)
        }
    }

    /// Reads the rest of a `\u` escape: four hexadecimal digits, or a surrogate pair of two escapes.
    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        var code = try fourDigits()
        if (0xD800..<0xDC00).contains(code) {
            guard current == UInt8(ascii: "\\") else { throw error(.encoding) }
            position &+= 1
            guard current == UInt8(ascii: "u") else { throw error(.encoding) }
            position &+= 1
            let low = try fourDigits()
            guard (0xDC00..<0xE000).contains(low) else { throw error(.encoding) }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw error(.encoding) }
        return scalar
    }

    private mutating func fourDigits() throws(JSONError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            let byte = current
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw error(.syntax)
            }
            code = code << 4 | UInt32(digit)
            position &+= 1
        }
        return code
    }
}
