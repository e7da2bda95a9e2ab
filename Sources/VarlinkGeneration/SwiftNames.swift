// SPDX-License-Identifier: Apache-2.0

/// Makes Swift names from the names in a description.
enum SwiftNames {
    /// The name of a property, parameter, case or function: `client_id` is `clientId`, `GetInfo` is `getInfo`.
    static func value(_ name: String) -> String {
        let words = name.split(separator: "_")
        let joined = loweringFirst(words[0]) + words.dropFirst().map { raisingFirst($0) }.joined()
        // Even in backquotes, `self` would mean the value itself.
        if joined == "self" { return "selfValue" }
        return keywords.contains(joined) ? "`\(joined)`" : joined
    }

    /// A name as an argument label, which needs no backquotes.
    static func label(_ name: String) -> String { name.hasPrefix("`") ? String(name.dropFirst().dropLast()) : name }

    /// The name of the type of a member: for `last_more` it is `LastMore`.
    static func type(_ name: String) -> String {
        let joined = name.split(separator: "_").map { raisingFirst($0) }.joined()
        return reservedTypes.contains(joined) ? joined + "Value" : joined
    }

    /// A variable name that is not in `names`.
    static func unused(_ name: String, among names: [String]) -> String {
        names.contains(name) ? unused("_" + name, among: names) : name
    }

    /// `Get` is `get`, `URLOf` is `urlOf`, `URL` is `url`.
    private static func loweringFirst(_ word: Substring) -> String {
        let capitals = word.prefix { $0.isUppercase }
        let rest = word.dropFirst(capitals.count)
        let count = capitals.count > 1 && rest.first?.isLetter == true ? capitals.count - 1 : capitals.count
        return word.prefix(count).lowercased() + word.dropFirst(count)
    }

    private static func raisingFirst(_ word: Substring) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    /// The names that need backquotes.
    private static let keywords: Set<String> = [
        "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer", "deinit",
        "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if",
        "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private",
        "protocol", "public", "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch",
        "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// The names that no nested type may have, because generated code uses them.
    private static let reservedTypes: Set<String> = [
        "Any", "Array", "Bool", "CaseIterable", "Double", "Duration", "Error", "Int", "Optional", "Protocol", "Self",
        "Sendable", "Set", "StaticString", "String", "Type", "Hashable", "InterfaceDescription", "InterfaceError",
        "JSONEnumeration", "JSONError", "JSONReader", "JSONStructure", "JSONText", "JSONWriter", "MethodCall",
        "MethodReplies", "NoMembers", "ServiceError", "VarlinkCall", "VarlinkClientError", "VarlinkConnection",
        "VarlinkError", "VarlinkInterface", "VarlinkActor",
    ]
}
