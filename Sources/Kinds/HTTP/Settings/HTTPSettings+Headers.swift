// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import YAML

extension HTTPSettings {
    /// Reads header fields: those with a value, each as `Name: value`, and those with a credential.
    static func headers(
        _ node: YAMLNode, with reader: inout SettingsReader
    ) throws(Problem) -> ([String], [CredentialField]) {
        let nodes = reader.nodes
        guard let mapping = node.mapping else {
            throw nodes.problem(at: node, "“headers” must be a mapping such as “{ Accept: text/plain }”")
        }
        let isSecret: ((key: YAMLNode, value: YAMLNode)) -> Bool = { $0.value.mapping != nil }
        let fields = try reader.readEach(of: mapping.filter { !isSecret($0) }) { entry throws(Problem) in
            try header(entry.key, entry.value, nodes)
        }
        let credentials = try reader.readEach(of: mapping.filter(isSecret)) { entry throws(Problem) in
            CredentialField(field: try name(entry.key, nodes), name: try credential(entry.value, nodes))
        }
        return (fields, credentials)
    }

    /// Reads `{ credential: NAME }`; the name is that of a file (systemd.exec(5)).
    private static func credential(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "text, or “{ credential: NAME }” with the name of a credential of statusd.service"
        guard let entries = node.mapping, entries.count == 1, entries[0].key.string == "credential",
            let name = entries[0].value.string, !entries[0].value.isNull, !name.isEmpty, !name.hasPrefix("."),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }), name.utf8.count <= 255
        else { throw nodes.problem(at: node, "the value of a header field must be \(what)") }
        return name
    }

    private static func name(_ key: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        guard let name = key.string, isToken(name) else {
            // The rest is not shown, because it may be a secret value.
            let start = VisibleText.escape(String((key.string ?? "").prefix { isToken(String($0)) }))
            let advice =
                key.string?.contains(":") == true
                ? "; write a space after the colon, as in “Accept: text/plain”"
                : ": must be letters, digits and hyphens"
            throw nodes.problem(at: key, "invalid header field name “\(start)…”\(advice)")
        }
        return name
    }

    private static func header(_ key: YAMLNode, _ value: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let name = try name(key, nodes)
        // Null is refused: it would be sent as “~” or “null”.
        guard let text = value.string, !value.isNull, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        else {
            let advice = value.isNull ? "; quote it" : ""
            throw nodes.problem(at: value, "the value of header field “\(name)” must be one line of text\(advice)")
        }
        return "\(name): \(text)"
    }

    /// Whether a text is a token (RFC 9110, section 5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }
}
