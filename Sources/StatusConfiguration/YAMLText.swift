// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Yams

/// YAML text into a tree, with errors that name file and line.
enum YAMLText {
    /// The tree of the one document in `text`; nil where it is empty.
    static func compose(_ text: String, file: String) throws(Problem) -> Node? {
        do {
            // Without the rules that tell numbers from words: each value is read as what its key asks for, and they cost 14 MB of memory.
            return try Yams.compose(yaml: text, .basic)
        } catch let error as YamlError {
            throw problem(error, file: file)
        } catch {
            throw Problem(.error, at: Origin(file: file), reason: "is no YAML: \(error)")
        }
    }

    private static func problem(_ error: YamlError, file: String) -> Problem {
        func at(_ line: Int?, _ reason: String) -> Problem {
            Problem(.error, at: Origin(file: file, line: line), reason: "is no YAML: \(VisibleText.escape(reason))")
        }
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            return at(mark.line, context.map { "\($0.text), \(problem)" } ?? problem)
        case .reader(let problem, let offset, _, let yaml):
            return at(offset.map { 1 + yaml.prefix($0).count { $0.isNewline } }, problem)
        case .duplicatedKeysInMapping(let duplicates, let context):
            return at(context.mark.line, "“\(duplicates.joined(separator: "”, “"))” stands here more than once")
        default:
            return at(nil, "\(error)")
        }
    }
}
