// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import YAML

/// Reads the settings of one server's source.
public struct SettingsReader {
    /// Reads single values.
    public let nodes: NodeReader
    /// The server whose source it is.
    public let server: ServerName
    /// Warnings, and errors behind the first one.
    public private(set) var problems: [Problem] = []

    /// A reader for the source of `server`.
    public init(_ nodes: NodeReader, server: ServerName) {
        self.nodes = nodes
        self.server = server
    }

    /// Warns of a key that means nothing.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - known: the keys that mean something here.
    ///   - section: the key that it stands below.
    public mutating func noteUnknown(_ key: YAMLNode, among known: [String], within section: String) {
        problems.append(nodes.unknown(key, among: known, within: section, of: server))
    }

    /// Reads each of some parts; throws the first error and keeps the others as problems.
    public mutating func readEach<Parts: Sequence, Part>(
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

    /// Throws the first of some errors and keeps the others as problems.
    public mutating func throwFirst(of errors: [Problem]) throws(Problem) {
        problems += errors.dropFirst()
        if let first = errors.first { throw first }
    }
}
