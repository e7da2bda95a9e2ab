// SPDX-License-Identifier: Apache-2.0

/// The rules for unit names (systemd.unit(5)).
package enum UnitName {
    private static let types: Set = [
        "service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope",
    ]

    /// The name with its suffix, `.service` by default; nil if it is invalid, or that of a template.
    package static func normalize(_ text: String) -> String? {
        let type = text.lastIndex(of: ".").map { String(text[text.index(after: $0)...]) }
        let isTyped = type.map(types.contains) ?? false
        let name = isTyped ? text : text + ".service"
        let stem = name.prefix(upTo: name.lastIndex(of: ".") ?? name.endIndex)
        return isAllowed(name) && !stem.isEmpty && !stem.hasPrefix("@") && !stem.hasSuffix("@") && name.utf8.count < 256
            ? name : nil
    }

    /// A pattern as systemctl(1) reads it, or a name with its suffix; nil if it is invalid.
    package static func normalizePattern(_ text: String) -> String? {
        guard isPattern(text) else { return normalize(text) }
        return isAllowed(text, and: "*?[]!^") && text.utf8.count < 256 ? text : nil
    }

    /// Whether a valid pattern or name is a pattern.
    package static func isPattern(_ text: String) -> Bool { text.utf8.contains(where: "*?[".utf8.contains) }

    private static func isAllowed(_ name: String, and others: String = "") -> Bool {
        name.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || ":-_.\\@".utf8.contains(byte)
                || others.utf8.contains(byte)
        }
    }
}
