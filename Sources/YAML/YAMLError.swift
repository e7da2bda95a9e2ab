// SPDX-License-Identifier: Apache-2.0

/// Why a text is not YAML, or not the part of YAML that ``YAMLDocument`` reads.
public struct YAMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where; nil if the place is unknown.
    public let mark: YAMLNode.Mark?
    /// What is wrong, as a phrase.
    public let reason: String

    init(_ mark: YAMLNode.Mark?, _ reason: String) {
        self.mark = mark
        self.reason = reason
    }

    public var description: String { mark.map { "line \($0.line), column \($0.column): \(reason)" } ?? reason }
}
