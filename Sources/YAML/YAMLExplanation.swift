// SPDX-License-Identifier: Apache-2.0

/// What to do about a problem that libyaml reports: those that users cause most often.
struct YAMLExplanation {
    let text: String
    /// Whether the mistake is where the unfinished part begins, and not where libyaml noticed it.
    let isAtBeginning: Bool

    /// The explanation of one of libyaml's texts; nil if there is none.
    init?(of problem: String) {
        guard let text = Self.beginnings[problem] ?? Self.texts[problem] else { return nil }
        self.text = text
        isAtBeginning = Self.beginnings[problem] != nil
    }

    private static let beginnings = [
        "could not find expected ':'": "a key needs a colon and a space after it",
        "did not find expected ',' or '}'": "missing “,” or “}” after the “{”",
        "did not find expected ',' or ']'": "missing “,” or “]” after the “[”",
        "found unexpected end of stream": "unclosed quote",
        "did not find expected alphabetic or numeric character": "text that starts with * or & must be quoted",
    ]

    private static let texts = [
        "mapping values are not allowed in this context":
            "unexpected “: ”; quote the text, or look in this line and the one before for a wrong indentation or a missing space after a colon",
        "did not find expected key": "wrong indentation, or text after a closing quote or bracket",
        "did not find expected '-' indicator": "wrong indentation in a list",
        "did not find expected node content":
            "unclosed bracket, or text in brackets that must be quoted, such as '[::1]:80'",
        "found unknown escape character": "unknown escape; use single quotes, in which a backslash is a backslash",
    ]
}
