// SPDX-License-Identifier: Apache-2.0

/// Finds the end of a run of bytes that needs no escapes, eight bytes at a time.
///
/// Only the lowest bit of a result is exact and used, because a borrow may set the bits above it.
enum ByteScanning {
    /// Marks each control character, quotation mark and backslash in eight bytes.
    @inline(__always)
    private static func escapes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let controls = (word &- ones &* 0x20) & ~word
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        return (controls | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)) & (ones &* 0x80)
    }

    /// How much room ``endOfPlainRun(closing:count:)`` needs behind the bytes.
    static let paddingOfEnd = 8

    /// Appends a quotation mark, and returns the offset of the first byte that a JSON string must escape.
    ///
    /// If there is no such byte, it returns the offset of the quotation mark. Zeros fill the last eight bytes.
    @inline(__always)
    static func endOfPlainRun(closing bytes: UnsafeMutablePointer<UInt8>, count: Int) -> Int {
        let raw = UnsafeMutableRawPointer(bytes)
        raw.storeBytes(of: UInt64(UInt8(ascii: "\"")).littleEndian, toByteOffset: count, as: UInt64.self)
        var index = 0
        while true {
            let marks = escapes(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            if marks != 0 { return index &+ (marks.trailingZeroBitCount &>> 3) }
            index &+= 8
        }
    }

    /// The offset of the first byte from `start` that a JSON string must escape, or the end.
    ///
    /// With `asciiOnly`, a byte above 0x7F also ends the run.
    @inline(__always)
    static func endOfPlainRun(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, asciiOnly: Bool) -> Int {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = start
        while index &+ 8 <= bytes.count {
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let marks = escapes(word) | (asciiOnly ? word & 0x8080_8080_8080_8080 : 0)
            if marks != 0 { return index &+ (marks.trailingZeroBitCount &>> 3) }
            index &+= 8
        }
        if index < bytes.count, bytes.count >= 8 {
            // Load the last eight bytes and shift out those already scanned. The zeros shifted in count as control
            // characters, so they end the run exactly at the end.
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
            let rest = word &>> UInt64(truncatingIfNeeded: (index &+ 8 &- bytes.count) &* 8)
            let marks = escapes(rest) | (asciiOnly ? rest & 0x8080_8080_8080_8080 : 0)
            return index &+ (marks.trailingZeroBitCount &>> 3)
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            if asciiOnly && byte >= 0x80 { break }
            index &+= 1
        }
        return index
    }
}
