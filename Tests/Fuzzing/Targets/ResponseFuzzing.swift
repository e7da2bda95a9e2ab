// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusWorkers

/// Fuzzes what `json` reads in the body of a response: the first line is the path, and the rest is the body.
enum ResponseFuzzing {
    static func check(_ input: [UInt8]) {
        let line = input.prefix { $0 != UInt8(ascii: "\n") }
        let body = Array(input.dropFirst(line.count + 1))
        guard let path = JSONPath(String(decoding: line, as: UTF8.self)) else { return }
        let whole = JSONFinding(JSONPath(".") ?? path, in: body)
        let found = JSONFinding(path, in: body)
        expect((whole == .notJSON) == (found == .notJSON), "a path does not decide whether a text is JSON")
        expect((whole == .tooDeep) == (found == .tooDeep), "a path does not decide whether a text is too deep")
        expect(whole != .missing, "a text has a value")
        for equals in [nil, JSONScalar.text("healthy"), .number(1), .flag(true), .null] {
            guard let problem = found.problem(expecting: JSONExpectation(path: path, equals: equals)) else { continue }
            expect(problem.utf8.count < 400, "a reason is short")
            expect(VisibleText.escape(problem) == problem, "a reason is safe to show")
        }
        if case .scalar(let value, _) = found {
            let problem = found.problem(expecting: JSONExpectation(path: path, equals: value))
            expect(problem == nil, "a value equals itself")
        }
    }
}
