// SPDX-License-Identifier: Apache-2.0

/// Why ``YAMLDocument`` cannot read a text.
public struct YAMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place of the error; nil if unknown.
    public let mark: YAMLNode.Mark?
    /// What is wrong, as a phrase.
    public let reason: String

    init(_ mark: YAMLNode.Mark?, _ reason: String) {
        self.mark = mark
        self.reason = reason
    }

    public var description: String { mark.map { "line \($0.line), column \($0.column): \(reason)" } ?? reason }
}
