// SPDX-License-Identifier: Apache-2.0

/// Swift code, written line by line and indented by its braces.
struct SwiftSource {
    private(set) var text = ""
    private var indentation = ""
    /// The indentation of each open brace; a `switch` has none.
    private var braces: [Int] = []

    /// Writes lines, indented by the braces that are open.
    mutating func line(_ lines: String = "") {
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) {
            let closes = line.drop { $0 == " " }.hasPrefix("}")
            if closes { indentation.removeLast(braces.removeLast()) }
            plain(line)
            guard line.hasSuffix("{") || line.hasSuffix(" in") else { continue }
            braces.append(line.hasPrefix("switch ") ? 0 : 4)
            indentation += line.hasPrefix("switch ") ? "" : "    "
        }
    }

    /// Writes a line without counting its braces.
    private mutating func plain(_ line: Substring) { text += line.isEmpty ? "\n" : "\(indentation)\(line)\n" }

    /// Writes the definition of a constant whose value is any text.
    mutating func constant(_ name: String, text: String) {
        // Counted in bytes, because Swift's lexer ignores that characters combine.
        let longest = text.utf8.split { $0 != UInt8(ascii: "#") }.map(\.count).max() ?? 0
        let marks = String(repeating: "#", count: longest + 1)
        let lines = "\(name) = \(marks)\"\"\"\n\(text)\n\"\"\"\(marks)"
        for line in Self.lines(of: lines) { plain(line) }
    }

    /// Writes a comment of the description as a documentation comment; if it is empty, writes `otherwise`.
    mutating func documentation(_ text: String, otherwise: String = "") {
        let text = text.isEmpty ? otherwise : text
        guard !text.isEmpty else { return }
        for line in Self.lines(of: text) {
            plain(line.isEmpty ? "///" : "/// \(line)")
        }
    }

    /// Splits a text at line ends, without the carriage returns of Windows, which would end a comment, too.
    private static func lines(of text: String) -> [Substring] {
        String(decoding: text.utf8.filter { $0 != 0x0D }, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }
}
