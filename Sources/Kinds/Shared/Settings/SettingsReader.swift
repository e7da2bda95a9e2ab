// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import YAML

/// Reads the settings of one server's source.
public struct SettingsReader {
    public let nodes: NodeReader
    public let server: ServerName
    /// The warnings, and the errors after the first one.
    public private(set) var problems: [Problem] = []

    public init(_ nodes: NodeReader, server: ServerName) {
        self.nodes = nodes
        self.server = server
    }

    /// Warns of a valid value that does not mean what it seems to.
    mutating func warn(at node: YAMLNode, _ reason: String) {
        problems.append(Problem(.warning, at: nodes.origin(of: node), server: server, reason: reason))
    }

    /// Reads each part; throws the first error and records the others as problems.
    mutating func readEach<Parts: Sequence, Part>(
        of parts: Parts, _ read: (Parts.Element) throws(Problem) -> Part
    ) throws(Problem) -> [Part] {
        var values: [Part] = []
        var errors: [Problem] = []
        for part in parts {
            do throws(Problem) { values.append(try read(part)) } catch { errors.append(error) }
        }
        try throwFirst(of: errors)
        return values
    }

    /// Reads each key of a mapping with `read`; throws the first error and records the others as problems.
    ///
    /// - Parameters:
    ///   - section: the key whose value the mapping is.
    ///   - keys: the known keys; other keys are errors.
    ///   - example: a value of the first key, for messages, if that key is required; nil if no key is.
    mutating func readMapping(
        _ node: YAMLNode, of section: String, keys: [String], example: String? = nil,
        _ read: (String, YAMLNode, inout SettingsReader) throws(Problem) -> Void
    ) throws(Problem) {
        var errors: [Problem] = []
        let entries = node.mapping ?? []
        for (key, value) in entries {
            guard let name = key.string, keys.contains(name) else {
                errors.append(nodes.unknown(key, among: keys, within: section, of: server))
                continue
            }
            do throws(Problem) { try read(name, value, &self) } catch { errors.append(error) }
        }
        if let example, !entries.contains(where: { $0.key.string == keys[0] }) {
            errors.append(nodes.problem(at: node, "“\(section)” requires “\(keys[0])”, such as \(example)"))
        }
        try throwFirst(of: errors)
    }

    /// Throws the first of these errors and records the others as problems.
    private mutating func throwFirst(of errors: [Problem]) throws(Problem) {
        problems += errors.dropFirst()
        if let first = errors.first { throw first }
    }
}
