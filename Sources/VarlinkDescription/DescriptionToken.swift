// SPDX-License-Identifier: Apache-2.0

/// A word or mark of a description.
struct DescriptionToken: Equatable {
    enum Kind: Equatable {
        case word(String)
        /// One of `( ) [ ] , : ?`, or `->`.
        case mark(String)
        case end
    }

    var kind: Kind
    /// The comment that ends on the line above, without its marks.
    var documentation: String
    var line: Int
    var column: Int

    func error(_ reason: String) -> InterfaceDescriptionError {
        InterfaceDescriptionError(line: line, column: column, reason: reason)
    }

    /// Splits a description into tokens; the last one marks its end.
    static func tokens(of text: String) throws(InterfaceDescriptionError) -> [DescriptionToken] {
        var tokens: [DescriptionToken] = []
        var comment: [String] = []
        for (index, line) in text.utf8.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
            var rest = line.drop(while: isBlank)
            if rest.isEmpty { comment = [] }
            while let first = rest.first {
                if first == UInt8(ascii: "#") {
                    comment.append(commentText(rest.dropFirst()))
                    break
                }
                let column = line.distance(from: line.startIndex, to: rest.startIndex) + 1
                var token = DescriptionToken(
                    kind: .end, documentation: comment.joined(separator: "\n"), line: index + 1, column: column)
                comment = []
                guard let text = Self.text(at: rest) else {
                    // The whole character, which may have several bytes.
                    throw token.error("unexpected character “\(Substring(rest).first ?? " ")”")
                }
                token.kind = isWord(first) ? .word(text) : .mark(text)
                tokens.append(token)
                rest = rest.dropFirst(text.utf8.count).drop(while: isBlank)
            }
        }
        let last = tokens.last
        tokens.append(DescriptionToken(kind: .end, documentation: "", line: last?.line ?? 1, column: last?.column ?? 1))
        return tokens
    }

    /// A comment without the white space around it, such as the carriage return of a line end.
    private static func commentText(_ comment: Substring.UTF8View) -> String {
        let text = comment.drop(while: isBlank)
        let end = text.lastIndex { !isBlank($0) }.map(text.index(after:)) ?? text.startIndex
        return String(decoding: text[..<end], as: UTF8.self)
    }

    /// The word or mark at the beginning of a text; nil if there is none.
    private static func text(at rest: Substring.UTF8View) -> String? {
        guard let first = rest.first else { return nil }
        if isWord(first) {
            return String(decoding: rest.prefix { isWord($0) || $0 == UInt8(ascii: "-") }, as: UTF8.self)
        }
        if rest.starts(with: "->".utf8) { return "->" }
        return "()[],:?".utf8.contains(first) ? String(Unicode.Scalar(first)) : nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
