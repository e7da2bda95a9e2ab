// SPDX-License-Identifier: Apache-2.0

package import SourceKinds
import StatusModel
import Varlink

/// What a text has at a path, if it is JSON.
package enum JSONFinding: Equatable {
    /// A single value, and how it is written for people.
    case scalar(JSONScalar, shown: String)
    /// An array or an object.
    case structure(String)
    /// A number that is too large to compare.
    case tooLarge(shown: String)
    case missing
    case notJSON
    /// It is nested deeper than ``maximumDepth``.
    case tooDeep

    /// The maximum number of nested arrays and objects.
    private static let maximumDepth = 128
    /// The maximum length of a shown value in bytes.
    private static let shownBytes = 100

    package init(_ path: JSONPath, in text: [UInt8]) {
        do throws(JSONError) {
            // This checks the whole text.
            var value = try JSONReader.read(text, maximumDepth: Self.maximumDepth) { reader throws(JSONError) in
                try reader.raw()
            }
            for step in path.steps {
                guard let next = try Self.value(at: step, of: value) else {
                    self = .missing
                    return
                }
                value = next
            }
            self = try Self.read(value)
        } catch {
            self = error.reason == .depth ? .tooDeep : .notJSON
        }
    }

    /// Returns the value at one step; nil if there is none.
    private static func value(at step: JSONPath.Step, of value: [UInt8]) throws(JSONError) -> [UInt8]? {
        try JSONReader.read(value, maximumDepth: maximumDepth) { reader throws(JSONError) in
            var found: [UInt8]?
            switch (step, value.first) {
            case (.member(let wanted), UInt8(ascii: "{")):
                let wanted = Array(wanted.utf8)
                // Of several members with the same name, the last one counts.
                try reader.object { name, reader throws(JSONError) in
                    if name.text.utf8.elementsEqual(wanted) { found = try reader.raw() }
                }
            case (.element(let wanted), UInt8(ascii: "[")):
                var index = 0
                try reader.array { reader throws(JSONError) in
                    if index == wanted { found = try reader.raw() }
                    index += 1
                }
            default: try reader.skip()
            }
            return found
        }
    }

    private static func read(_ value: [UInt8]) throws(JSONError) -> JSONFinding {
        try JSONReader.read(value, maximumDepth: maximumDepth) { reader throws(JSONError) in
            switch value.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                try reader.skip()
                return .structure(value.first == UInt8(ascii: "{") ? "an object" : "an array")
            case UInt8(ascii: "\""):
                let text = try reader.string()
                return .scalar(.text(text), shown: "“\(VisibleText.excerpt(text, bytes: shownBytes))”")
            case UInt8(ascii: "t"), UInt8(ascii: "f"):
                let flag = try reader.boolean()
                return .scalar(.flag(flag), shown: "\(flag)")
            case UInt8(ascii: "n"):
                try reader.skip()
                return .scalar(.null, shown: "null")
            default:
                try reader.skip()
                let text = String(decoding: value, as: UTF8.self)
                let shown = VisibleText.excerpt(text, bytes: shownBytes)
                guard let number = Double(text), number.isFinite else { return .tooLarge(shown: shown) }
                return .scalar(.number(number), shown: shown)
            }
        }
    }

    /// Returns why this is not as expected; nil if it is.
    package func problem(expecting expected: JSONExpectation) -> String? {
        let name = VisibleText.excerpt(expected.path.name, bytes: Self.shownBytes)
        switch self {
        case .missing: return "the response has no \(name)"
        case .notJSON: return "the response is not JSON"
        case .tooDeep: return "the response is nested too deeply"
        case .structure(let shown), .tooLarge(let shown): return expected.equals == nil ? nil : "\(name) is \(shown)"
        case .scalar(let value, let shown):
            let isExpected =
                if let equals = expected.equals { Self.isEqual(value, equals) } else {
                    value != .null && value != .flag(false)
                }
            if isExpected { return nil }
            // A number looks like its text, and `yes` is no truth value here.
            let hint = expected.equals.flatMap { $0.parts.first == value.parts.first ? nil : Self.shown($0) }
            return "\(name) is \(shown)" + (hint.map { ", not \($0)" } ?? "")
        }
    }

    private static func shown(_ value: JSONScalar) -> String {
        switch value {
        case .text(let text): "“\(VisibleText.excerpt(text, bytes: shownBytes))”"
        case .number(let number): MeasuredValue.text(number, "")
        case .flag(let flag): "\(flag)"
        case .null: "null"
        }
    }

    /// Compares texts as bytes, because Swift compares some that are different as equal, in quadratic time.
    private static func isEqual(_ value: JSONScalar, _ expected: JSONScalar) -> Bool {
        if case (.text(let value), .text(let expected)) = (value, expected) {
            return value.utf8.elementsEqual(expected.utf8)
        }
        return value == expected
    }
}
