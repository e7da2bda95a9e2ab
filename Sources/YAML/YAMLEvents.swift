// SPDX-License-Identifier: Apache-2.0

import CYAML
import StatusSupport

/// The events that libyaml's parser reports, as Swift values.
struct YAMLEvents {
    enum Event {
        /// The stream or a document begins or ends.
        case documentStart, documentEnd, streamStart, streamEnd
        case scalar(String, isPlain: Bool, anchor: String?)
        case sequenceStart(anchor: String?)
        case mappingStart(anchor: String?)
        /// The end of a sequence or mapping.
        case end
        case alias(String)
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>

    /// Parses `text`, which must stay in place until the last event has been read.
    init(_ parser: UnsafeMutablePointer<yaml_parser_t>, reading text: UnsafeBufferPointer<UInt8>) {
        self.parser = parser
        self.text = text
    }

    /// Returns the next event and the position where it starts.
    func next() throws(YAMLError) -> (event: Event, mark: YAMLNode.Mark) {
        var raw = yaml_event_t()
        guard yaml_parser_parse(parser, &raw) == 1 else { throw failure }
        defer { yaml_event_delete(&raw) }
        let mark = YAMLNode.Mark(raw.start_mark)
        return (try event(raw, at: mark), mark)
    }

    private func event(_ raw: yaml_event_t, at mark: YAMLNode.Mark) throws(YAMLError) -> Event {
        switch raw.type {
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            try refuseTag(scalar.tag, at: mark)
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            return .scalar(StreamSafeText.text(text), isPlain: isPlain, anchor: string(scalar.anchor))
        case YAML_SEQUENCE_START_EVENT:
            try refuseTag(raw.data.sequence_start.tag, at: mark)
            return .sequenceStart(anchor: string(raw.data.sequence_start.anchor))
        case YAML_MAPPING_START_EVENT:
            try refuseTag(raw.data.mapping_start.tag, at: mark)
            return .mappingStart(anchor: string(raw.data.mapping_start.anchor))
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return .end
        case YAML_ALIAS_EVENT: return .alias(string(raw.data.alias.anchor) ?? "")
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_STREAM_START_EVENT: return .streamStart
        default: return .streamEnd
        }
    }

    private func refuseTag(_ tag: UnsafeMutablePointer<yaml_char_t>?, at mark: YAMLNode.Mark) throws(YAMLError) {
        // The text is not shown because it may be a secret.
        if tag != nil { throw YAMLError(mark, "text that starts with ! must be quoted; tags are not supported") }
    }

    /// The position of a byte of the text.
    private func mark(at offset: Int) -> YAMLNode.Mark {
        let before = text.prefix(offset)
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let line = before.count { $0 == 0x0A } + 1
        return YAMLNode.Mark(line: line, column: before.count - lineStart + 1)
    }

    private func string(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }

    /// The error that the parser reports.
    private var failure: YAMLError {
        let state = parser.pointee
        let problem = state.problem.map { String(cString: $0) } ?? "syntax error"
        switch state.error {
        case YAML_MEMORY_ERROR: return YAMLError(nil, "out of memory")
        // The parser reads ahead, so its mark is not at the unreadable byte.
        case YAML_READER_ERROR: return YAMLError(mark(at: state.problem_offset), problem)
        case YAML_SCANNER_ERROR where state.buffer.pointer?.pointee == UInt8(ascii: "\t"):
            return YAMLError(YAMLNode.Mark(state.problem_mark), "tab in the indentation; use spaces")
        case YAML_SCANNER_ERROR where problem == "found character that cannot start any token":
            let character = state.buffer.pointer.map { String(Unicode.Scalar($0.pointee)) } ?? ""
            return YAMLError(YAMLNode.Mark(state.problem_mark), "text that starts with “\(character)” must be quoted")
        default:
            if let explanation = YAMLExplanation(of: problem) {
                let mark = explanation.isAtBeginning ? state.context_mark : state.problem_mark
                return YAMLError(YAMLNode.Mark(mark), explanation.text)
            }
            let context = state.context.map { "\(String(cString: $0)), " } ?? ""
            return YAMLError(YAMLNode.Mark(state.problem_mark), context + problem)
        }
    }
}

extension YAMLNode.Mark {
    fileprivate init(_ mark: yaml_mark_t) { self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1) }
}

/// Advice on the problems that libyaml reports most often.
struct YAMLExplanation {
    let text: String
    /// Whether the error is at the beginning of the unfinished part, not where libyaml noticed it.
    let isAtBeginning: Bool

    /// Looks up the explanation of one of libyaml's texts; nil if there is none.
    init?(of problem: String) {
        guard let text = Self.beginnings[problem] ?? Self.texts[problem] else { return nil }
        self.text = text
        isAtBeginning = Self.beginnings[problem] != nil
    }

    private static let beginnings = [
        "could not find expected ':'": "a key needs a colon and a space after it",
        "did not find expected ',' or '}'": "missing “,” or “}” after the “{”",
        "did not find expected ',' or ']'": "missing “,” or “]” after the “[”",
        "found unexpected end of stream": "unclosed quote",
        "did not find expected alphabetic or numeric character": "text that starts with * or & must be quoted",
    ]

    private static let texts = [
        "mapping values are not allowed in this context":
            "unexpected “: ”; quote the text, or fix the indentation or a missing space after a colon "
            + "in this line or the line before",
        "did not find expected key": "wrong indentation, or text after a closing quote or bracket",
        "did not find expected '-' indicator": "wrong indentation in a list",
        "did not find expected node content":
            "unclosed bracket, or text in brackets that must be quoted, such as '[::1]:80'",
        "found unknown escape character": "unknown escape; use single quotes, in which a backslash is a backslash",
    ]
}
