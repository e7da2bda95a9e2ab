// SPDX-License-Identifier: Apache-2.0

/// The character set of the user's locale for punctuation: Unicode or ASCII.
public struct Charset: Sendable {
    /// Whether the locale's character set is UTF-8.
    public let isUTF8: Bool

    /// Reads the locale from the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set (locale(7)).
    public init(environment: [String: String]) {
        let values = ["LC_ALL", "LC_CTYPE", "LANG"].map { environment[$0] ?? "" }
        let locale = values.first { !$0.isEmpty } ?? ""
        // LANGUAGE_TERRITORY.CODESET@MODIFIER
        let codeset = locale.prefix { $0 != "@" }.drop { $0 != "." }.dropFirst().lowercased()
        isUTF8 = codeset == "utf-8" || codeset == "utf8"
    }

    /// Returns the text, with ASCII quotes and dots if the locale is not UTF-8; other characters are unchanged.
    public func text(_ text: String) -> String {
        if isUTF8 || text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        return text.reduce(into: "") { plain, character in
            switch character {
            case "“", "”": plain += "\""
            case "‘", "’": plain += "'"
            case "…": plain += "..."
            default: plain.append(character)
            }
        }
    }
}
