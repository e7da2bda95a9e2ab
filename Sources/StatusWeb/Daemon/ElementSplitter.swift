// SPDX-License-Identifier: Apache-2.0

#if Web
/// Takes the servers out of the text of a snapshot while it arrives, so that 50 MB of it are never in memory at once.
///
/// Servers are the elements of the only array that is a member of an event, `{"parameters":{"event":{"servers":[`. What
/// is left is an event with an empty array.
struct ElementSplitter {
    /// The depth of braces and brackets inside the array.
    private static let arrayDepth = 4
    /// Longer elements are not servers, and end the connection.
    static let longestElement = 256 << 10

    private var depth = 0
    private var isInArray = false
    private var isInString = false
    private var isEscaped = false
    private var element: [UInt8] = []

    /// Takes a part of the text; calls `onElement` with each element that has ended, and returns the rest.
    mutating func rest(of part: UnsafeRawBufferPointer, _ onElement: ([UInt8]) -> Void) -> [UInt8]? {
        var rest: [UInt8] = []
        for byte in part {
            let wasInside = isInArray && depth > Self.arrayDepth
            follow(byte)
            if wasInside || isInArray && depth > Self.arrayDepth {
                element.append(byte)
                if depth == Self.arrayDepth, !element.isEmpty, !isInString {
                    onElement(element)
                    element.removeAll(keepingCapacity: true)
                } else if element.count > Self.longestElement {
                    return nil
                }
            } else if !isInArray || byte != UInt8(ascii: ",") {
                rest.append(byte)
            }
        }
        return rest
    }

    /// Follows strings, and the depth of braces and brackets.
    private mutating func follow(_ byte: UInt8) {
        if isEscaped { return isEscaped = false }
        switch byte {
        // The end of a message.
        case 0: self = ElementSplitter()
        case UInt8(ascii: "\\"): isEscaped = isInString
        case UInt8(ascii: "\""): isInString.toggle()
        case _ where isInString: break
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            if byte == UInt8(ascii: "["), depth == Self.arrayDepth { isInArray = true }
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            if byte == UInt8(ascii: "]"), depth == Self.arrayDepth { isInArray = false }
            depth -= 1
        default: break
        }
    }
}
#endif
