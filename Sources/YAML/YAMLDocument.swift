// SPDX-License-Identifier: Apache-2.0

import CYAML

/// Reads a YAML document into a tree of nodes, with libyaml.
///
/// It supports the part of YAML that configuration files need: one document, scalars as keys, merge keys, no tags. To
/// bound the cost of any file, it limits the nesting (``maximumDepth``) and the nodes that aliases add
/// (``maximumAliasedNodes``).
public enum YAMLDocument {
    /// The maximum nesting of sequences and mappings.
    public static let maximumDepth = 32
    /// The maximum number of nodes that all aliases together may add.
    ///
    /// Without a limit, a few hundred bytes of nested aliases could add billions.
    public static let maximumAliasedNodes = 10_000

    /// Reads the document in `text`; returns nil if the text is empty.
    public static func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        var parser = yaml_parser_t()
        guard yaml_parser_initialize(&parser) == 1 else { throw YAMLError(nil, "out of memory") }
        defer { yaml_parser_delete(&parser) }
        // An editor's byte order mark is not part of the text.
        var text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        return try withUnsafeMutablePointer(to: &parser) { parser throws(YAMLError) in
            // The bytes must stay in place until the parser has read all of them.
            let result: Result<YAMLNode?, YAMLError> = text.withUTF8 { bytes in
                yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
                yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
                var composer = YAMLComposer(parser, reading: bytes)
                do throws(YAMLError) { return .success(try composer.document()) } catch { return .failure(error) }
            }
            return try result.get()
        }
    }
}

/// The reason why ``YAMLDocument`` cannot read a text.
public struct YAMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The position of the error; nil if unknown.
    public let mark: YAMLNode.Mark?
    public let reason: String

    init(_ mark: YAMLNode.Mark?, _ reason: String) {
        self.mark = mark
        self.reason = reason
    }

    public var description: String { mark.map { "line \($0.line), column \($0.column): \(reason)" } ?? reason }
}
