// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import Varlink

/// A configuration's problem as JSON.
struct ProblemText: JSONWritable {
    let problem: Problem

    init(_ problem: Problem) { self.problem = problem }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("severity", problem.severity.rawValue)
            writer.member("file", problem.origin.file)
            writer.member("line", problem.origin.line)
            writer.member("server", problem.server?.rawValue)
            writer.member("reason", problem.reason)
        }
    }
}
