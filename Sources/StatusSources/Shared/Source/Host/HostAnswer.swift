// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusWorkers
import Varlink

/// The answer of a worker that looked at this host.
struct HostAnswer: WorkerAnswer, JSONWritable, Equatable {
    /// The result, or why there is none.
    let result: Result<CheckResult, CheckFailure>

    var isFinal: Bool { true }
    var leavesWorkerIdle: Bool { true }

    init(_ result: Result<CheckResult, CheckFailure>) { self.result = result }

    init(from reader: inout JSONReader) throws(JSONError) {
        var level: Level?
        var text: String?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "level": level = Level(rawValue: try String(from: &reader))
            case "text": text = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let text else { throw .missingMember("text") }
        result = level.map { .success(CheckResult($0, text)) } ?? .failure(CheckFailure(text))
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch result {
            case .success(let found):
                writer.member("level", found.level.rawValue)
                writer.member("text", found.text)
            case .failure(let failure): writer.member("text", failure.description)
            }
        }
    }
}
