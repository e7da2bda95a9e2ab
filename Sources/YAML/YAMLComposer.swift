// SPDX-License-Identifier: Apache-2.0

import CYAML
import StatusSupport

/// Composes the events of libyaml's parser into a tree.
struct YAMLComposer {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>
    private var hasDocument = false
    private var anchors: [String: YAMLNode] = [:]
    private var depth = 0
    private var aliasedNodes = 0

    /// Parses `text`, which must stay in place until ``document()`` returns.
    init(_ parser: UnsafeMutablePointer<yaml_parser_t>, reading text: UnsafeBufferPointer<UInt8>) {
        self.parser = parser
        self.text = text
    }

    /// Returns the root of the only document; nil if there is none.
    mutating func document() throws(YAMLError) -> YAMLNode? {
        let root = try node()
        // The rest has no further document.
        if root != nil { _ = try node() }
        return root
    }

    /// Returns the next node; nil at the end of a sequence, of a mapping or of the text.
    private mutating func node() throws(YAMLError) -> YAMLNode? {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
        defer { yaml_event_delete(&event) }
        let mark = YAMLNode.Mark(event.start_mark)
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            try refuseTag(scalar.tag, at: mark)
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            if isPlain { try refuseInvisible(text.unicodeScalars, at: mark) }
            return keep(.scalar(StreamSafeText.text(text), isPlain: isPlain), at: mark, as: scalar.anchor)
        case YAML_SEQUENCE_START_EVENT:
            try refuseTag(event.data.sequence_start.tag, at: mark)
            return keep(.sequence(try elements(at: mark)), at: mark, as: event.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT:
            try refuseTag(event.data.mapping_start.tag, at: mark)
            return keep(.mapping(try members(at: mark)), at: mark, as: event.data.mapping_start.anchor)
        case YAML_ALIAS_EVENT: return try aliased(String(cString: event.data.alias.anchor), at: mark)
        case YAML_DOCUMENT_START_EVENT:
            let tags = event.data.document_start.tag_directives
            if tags.start != tags.end { throw YAMLError(mark, "tags are not supported; remove %TAG") }
            if hasDocument { throw YAMLError(mark, "a second document starts here; keep one") }
            hasDocument = true
            return try node()
        case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT: return try node()
        default: return nil
        }
    }

    private mutating func elements(at mark: YAMLNode.Mark) throws(YAMLError) -> [YAMLNode] {
        try descend(at: mark)
        var elements: [YAMLNode] = []
        while let element = try node() { elements.append(element) }
        depth -= 1
        return elements
    }

    private mutating func members(at mark: YAMLNode.Mark) throws(YAMLError) -> [(key: YAMLNode, value: YAMLNode)] {
        try descend(at: mark)
        var members: [(key: YAMLNode, value: YAMLNode)] = []
        var lines: [String: Int] = [:]
        var merged: [YAMLNode] = []
        while let key = try node() {
            guard let name = key.string else { throw YAMLError(key.mark, "a key must be text") }
            if let character = name.unicodeScalars.first(where: Self.isInvisible) {
                throw YAMLError(key.mark, Self.refusal(of: character, "in this key"))
            }
            if let line = lines.updateValue(key.mark.line, forKey: name) {
                throw YAMLError(key.mark, "duplicate key “\(key.keyToShow)”, already in line \(line)")
            }
            // libyaml reports a value for each key; it is empty if the text has none.
            guard let value = try node() else { break }
            if case .scalar("<<", isPlain: true) = key.content {
                merged = value.sequence ?? [value]
                guard merged.allSatisfy({ $0.mapping != nil }) else {
                    throw YAMLError(value.mark, "“<<” merges mappings; write an alias such as “<<: *web”")
                }
            } else {
                members.append((key, value))
            }
        }
        depth -= 1
        // A key of the mapping itself overrides merged ones, and of these the first one counts
        // (https://yaml.org/type/merge.html).
        for (key, value) in merged.flatMap({ $0.mapping ?? [] })
        where lines.updateValue(key.mark.line, forKey: key.string ?? "") == nil {
            members.append((key, value))
        }
        return members
    }

    /// Refuses spaces that look like others, or like nothing, where they would be a part of a text: at its ends, and
    /// after a colon.
    private func refuseInvisible(_ text: String.UnicodeScalarView, at mark: YAMLNode.Mark) throws(YAMLError) {
        if let first = text.first, Self.isInvisible(first) {
            let isIndentation = line(of: mark).prefix { $0 == 0x20 }.count == mark.column - 1
            throw YAMLError(mark, Self.refusal(of: first, isIndentation ? "in the indentation" : "before this text"))
        }
        if let last = text.last, Self.isInvisible(last) {
            throw YAMLError(mark, Self.refusal(of: last, "at the end", isAtEnd: true))
        }
        if let pair = zip(text, text.dropFirst()).first(where: { $0 == ":" && Self.isInvisible($1) }) {
            throw YAMLError(mark, Self.refusal(of: pair.1, "after the colon"))
        }
    }

    /// The line of a mark; empty if libyaml has counted other ends of lines, such as a single carriage return.
    private func line(of mark: YAMLNode.Mark) -> Slice<UnsafeBufferPointer<UInt8>> {
        let lines = text.split(separator: 0x0A, maxSplits: mark.line, omittingEmptySubsequences: false)
        return lines.dropFirst(mark.line - 1).first ?? text[text.endIndex...]
    }

    private static func isInvisible(_ character: Unicode.Scalar) -> Bool {
        let properties = character.properties
        return !character.isASCII && (properties.isWhitespace || properties.generalCategory == .format)
    }

    private static func refusal(of character: Unicode.Scalar, _ place: String, isAtEnd: Bool = false) -> String {
        let code = String(character.value, radix: 16, uppercase: true)
        let number = "U+" + String(repeating: "0", count: max(0, 4 - code.count)) + code
        let isSpace = character.properties.isWhitespace
        let name =
            switch character {
            case "\u{A0}": "no-break space (\(number))"
            case "\u{FEFF}": "byte order mark (\(number))"
            default: isSpace ? "space \(number)" : "invisible character \(number)"
            }
        return "\(name) \(place); \(isSpace && !isAtEnd ? "use spaces" : "remove it")"
    }

    private mutating func descend(at mark: YAMLNode.Mark) throws(YAMLError) {
        depth += 1
        guard depth <= YAMLDocument.maximumDepth else {
            throw YAMLError(mark, "nested more than \(YAMLDocument.maximumDepth) levels deep")
        }
    }

    private mutating func aliased(_ name: String, at mark: YAMLNode.Mark) throws(YAMLError) -> YAMLNode {
        // An anchor is recorded after its node is complete, so an alias cannot refer to a node that contains it.
        guard let node = anchors[name] else {
            // The text is not shown because it may be a secret.
            throw YAMLError(
                mark, "text that starts with * must be quoted; an alias must be defined with & before it is used")
        }
        aliasedNodes += node.size
        guard aliasedNodes <= YAMLDocument.maximumAliasedNodes else {
            throw YAMLError(mark, "aliases add more than \(YAMLDocument.maximumAliasedNodes) values; use fewer")
        }
        return node
    }

    private mutating func keep(
        _ content: YAMLNode.Content, at mark: YAMLNode.Mark, as anchor: UnsafeMutablePointer<yaml_char_t>?
    ) -> YAMLNode {
        let node = YAMLNode(content, mark: mark)
        if let anchor { anchors[String(cString: anchor)] = node }
        return node
    }

    private func refuseTag(_ tag: UnsafeMutablePointer<yaml_char_t>?, at mark: YAMLNode.Mark) throws(YAMLError) {
        // The text is not shown because it may be a secret.
        if tag != nil { throw YAMLError(mark, "text that starts with ! must be quoted; tags are not supported") }
    }

    /// The error that the parser reports.
    private var failure: YAMLError {
        let state = parser.pointee
        let problem = state.problem.map { String(cString: $0) } ?? "syntax error"
        switch state.error {
        case YAML_MEMORY_ERROR: return YAMLError(nil, "out of memory")
        case YAML_READER_ERROR:
            // The parser reads ahead, so its mark is not at the unreadable byte.
            let before = text.prefix(state.problem_offset)
            let column = before.reversed().prefix { $0 != 0x0A }.count + 1
            return YAMLError(YAMLNode.Mark(line: before.count { $0 == 0x0A } + 1, column: column), problem)
        case YAML_SCANNER_ERROR where state.buffer.pointer?.pointee == UInt8(ascii: "\t"):
            return YAMLError(YAMLNode.Mark(state.problem_mark), "tab in the indentation; use spaces")
        case YAML_SCANNER_ERROR where problem == "found character that cannot start any token":
            let character = state.buffer.pointer.map { String(Unicode.Scalar($0.pointee)) } ?? ""
            return YAMLError(YAMLNode.Mark(state.problem_mark), "text that starts with “\(character)” must be quoted")
        // libyaml skips it, but counts it as indentation.
        case YAML_PARSER_ERROR where line(of: YAMLNode.Mark(state.problem_mark)).starts(with: "\u{FEFF}".utf8):
            return YAMLError(YAMLNode.Mark(state.problem_mark), Self.refusal(of: "\u{FEFF}", "in the indentation"))
        default:
            if let advice = Self.adviceAtBeginning[problem] {
                return YAMLError(YAMLNode.Mark(state.context_mark), advice)
            }
            if let advice = Self.advice[problem] { return YAMLError(YAMLNode.Mark(state.problem_mark), advice) }
            let context = state.context.map { "\(String(cString: $0)), " } ?? ""
            return YAMLError(YAMLNode.Mark(state.problem_mark), context + problem)
        }
    }

    /// Advice on errors that libyaml notices only after the unfinished part.
    private static let adviceAtBeginning = [
        "could not find expected ':'": "a key needs a colon and a space after it",
        "did not find expected ',' or '}'":
            "missing “,” or “}” after the “{”; a value with [, { or “: ” in it needs quotes",
        "did not find expected ',' or ']'":
            "missing “,” or “]” after the “[”; a value with ], { or “: ” in it needs quotes",
        "found unexpected end of stream": "unclosed quote",
        "did not find expected alphabetic or numeric character": "text that starts with * or & must be quoted",
    ]

    /// Advice on other frequent errors.
    private static let advice = [
        "mapping values are not allowed in this context":
            "unexpected “: ”; quote the text, or fix the indentation or a missing space after a colon "
            + "in this line or the line before",
        "did not find expected key":
            "wrong indentation, or text after a closing quote or bracket; a value that begins with { or [ needs quotes",
        "did not find expected '-' indicator": "wrong indentation in a list",
        "did not find expected node content":
            "unclosed bracket, or text that must be quoted, such as '::1' or '[::1]:80'",
        "found unknown escape character": "unknown escape; use single quotes, in which a backslash is a backslash",
    ]
}

extension YAMLNode.Mark {
    fileprivate init(_ mark: yaml_mark_t) { self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1) }
}
