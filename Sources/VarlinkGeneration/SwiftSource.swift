// SPDX-License-Identifier: Apache-2.0

/// Swift code, written line by line and indented by its braces.
struct SwiftSource {
    private(set) var text = ""
    private var indentation = ""
    /// How far each open brace has indented; a `switch` does not.
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

    /// Writes a line, whatever braces it has.
    private mutating func plain(_ line: Substring) { text += line.isEmpty ? "\n" : "\(indentation)\(line)\n" }

    /// Writes the definition of a constant whose value is any text.
    mutating func constant(_ name: String, text: String) {
        var marks = "#"
        while text.contains("\"\"\"\(marks)") || text.contains("\\\(marks)") { marks += "#" }
        let lines = "\(name) = \(marks)\"\"\"\n\(text)\n\"\"\"\(marks)"
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) { plain(line) }
    }

    /// Writes a comment of the description as a documentation comment; if it is empty, writes `otherwise`.
    mutating func documentation(_ text: String, otherwise: String = "") {
        let text = text.isEmpty ? otherwise : text
        guard !text.isEmpty else { return }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            plain(line.isEmpty ? "///" : "/// \(line)")
        }
    }
}
