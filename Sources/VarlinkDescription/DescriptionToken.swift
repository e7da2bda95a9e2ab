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
            let found = try Self.tokens(ofLine: line, number: index + 1, comment: &comment)
            if found.isEmpty, line.allSatisfy(isBlank) { comment = [] }
            tokens += found
        }
        let last = tokens.last
        tokens.append(DescriptionToken(kind: .end, documentation: "", line: last?.line ?? 1, column: last?.column ?? 1))
        return tokens
    }

    private static func tokens(
        ofLine line: Substring.UTF8View, number: Int, comment: inout [String]
    ) throws(InterfaceDescriptionError) -> [DescriptionToken] {
        var tokens: [DescriptionToken] = []
        var position = line.startIndex
        while position < line.endIndex {
            let column = line.distance(from: line.startIndex, to: position) + 1
            let rest = line[position...]
            if isBlank(line[position]) {
                position = line.index(after: position)
                continue
            }
            if line[position] == UInt8(ascii: "#") {
                comment.append(commentText(rest.dropFirst()))
                break
            }
            var token = DescriptionToken(
                kind: .end, documentation: comment.joined(separator: "\n"), line: number, column: column)
            comment = []
            guard let text = text(at: rest) else {
                throw token.error("unexpected character “\(character(at: rest))”")
            }
            token.kind = isWord(rest[rest.startIndex]) ? .word(text) : .mark(text)
            tokens.append(token)
            position = line.index(position, offsetBy: text.utf8.count)
        }
        return tokens
    }

    /// A comment without the white space around it, such as the carriage return of a line end.
    private static func commentText(_ comment: Substring.UTF8View) -> String {
        let text = comment.drop(while: isBlank)
        let end = text.lastIndex { !isBlank($0) }.map(text.index(after:)) ?? text.startIndex
        return String(decoding: text[..<end], as: UTF8.self)
    }

    private static func text(at rest: Substring.UTF8View) -> String? {
        let word = rest.prefix { isWord($0) || $0 == UInt8(ascii: "-") && rest.first.map(isWord) == true }
        if rest.first.map(isWord) == true { return String(decoding: word, as: UTF8.self) }
        if rest.starts(with: "->".utf8) { return "->" }
        guard let first = rest.first, "()[],:?".utf8.contains(first) else { return nil }
        return String(decoding: CollectionOfOne(first), as: UTF8.self)
    }

    /// The whole character, which may have several bytes.
    private static func character(at rest: Substring.UTF8View) -> Character { Substring(rest).first ?? " " }

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
