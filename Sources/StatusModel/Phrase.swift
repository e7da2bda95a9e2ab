// SPDX-License-Identifier: Apache-2.0

extension String {
    /// A system's or a library's words as they stand within a sentence: in one line, without a dot at the end, and in
    /// lower case unless it is a name that begins.
    public var asPhrase: String {
        let words = split(whereSeparator: \.isWhitespace)
        let isName = words.first?.dropFirst().contains(where: \.isUppercase) ?? false
        var phrase = words.joined(separator: " ")
        if phrase.hasSuffix(".") { phrase.removeLast() }
        return isName ? phrase : phrase.prefix(1).lowercased() + phrase.dropFirst()
    }
}
