// SPDX-License-Identifier: Apache-2.0

/// Swift code, written line by line.
struct SwiftSource {
    private(set) var text = ""
    private var indentation = ""

    /// Writes a line, or several.
    mutating func line(_ lines: String = "") {
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) {
            text += line.isEmpty ? "\n" : "\(indentation)\(line)\n"
        }
    }

    /// Writes `head {`, the lines of `body` and `end`.
    mutating func block(
        _ head: String, indented: Bool = true, end: String = "}",
        _ body: (inout SwiftSource) throws(GenerationError) -> Void
    ) throws(GenerationError) {
        line(head.hasSuffix(" in") ? head : "\(head) {")
        if indented { indentation += "    " }
        try body(&self)
        if indented { indentation.removeLast(4) }
        line(end)
    }

    /// Writes a comment of the description as a documentation comment; if it is empty, writes `otherwise`.
    mutating func documentation(_ text: String, otherwise: String = "") {
        let text = text.isEmpty ? otherwise : text
        guard !text.isEmpty else { return }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            self.line(line.isEmpty ? "///" : "/// \(line)")
        }
    }
}
