// SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    /// Reads `true` or `false`.
    public mutating func boolean() throws(JSONError) -> Bool {
        if consume("true") { return true }
        if consume("false") { return false }
        throw mismatch("boolean")
    }

    /// Returns whether the next value is `null`, and reads past it if it is.
    public mutating func isNull() throws(JSONError) -> Bool {
        guard current == UInt8(ascii: "n") else { return false }
        guard consume("null") else { throw error(.syntax) }
        return true
    }

    /// Reads a whole number that fits into 64 bits.
    ///
    /// `1.0` and `1e2` are not whole numbers.
    public mutating func integer() throws(JSONError) -> Int {
        let isNegative = current == UInt8(ascii: "-")
        let first = isNegative ? position &+ 1 : position
        var index = first
        // Counts down, because the least integer has no positive counterpart.
        var value = 0
        var fits = true
        while index < bytes.count, case let digit = bytes[index] &- UInt8(ascii: "0"), digit < 10 {
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (next, underflowed) = product.subtractingReportingOverflow(Int(digit))
            if overflowed || underflowed { fits = false }
            value = next
            index &+= 1
        }
        guard index > first else { throw isNegative ? error(.syntax) : mismatch("integer") }
        guard index == first + 1 || bytes[first] != UInt8(ascii: "0") else { throw error(.syntax) }
        switch index < bytes.count ? bytes[index] : 0 {
        case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
            _ = try numberText()
            throw error(.type(expected: "integer"))
        default: break
        }
        guard fits, isNegative || value != .min else { throw error(.number) }
        position = index
        return isNegative ? value : -value
    }

    /// Reads a number, rounded to the nearest double.
    ///
    /// A number that is too large for a double is an error.
    public mutating func number() throws(JSONError) -> Double {
        guard current == UInt8(ascii: "-") || current &- UInt8(ascii: "0") < 10 else { throw mismatch("number") }
        let range = try numberText()
        guard let value = Double(String(decoding: bytes[range], as: UTF8.self)), value.isFinite else {
            throw error(.number)
        }
        return value
    }

    /// Reads past a number and returns its range.
    mutating func numberText() throws(JSONError) -> Range<Int> {
        let start = position
        if current == UInt8(ascii: "-") { position &+= 1 }
        if current == UInt8(ascii: "0") { position &+= 1 } else { try digits() }
        if current == UInt8(ascii: ".") {
            position &+= 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            position &+= 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position &+= 1 }
            try digits()
        }
        return start..<position
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position &+= 1 }
        guard position > start else { throw error(.syntax) }
    }

    /// Reads past a word, if it is next.
    private mutating func consume(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard bytes.count - position >= count else { return false }
        for index in 0..<count where bytes[position &+ index] != word.utf8Start[index] { return false }
        position &+= count
        return true
    }
}
