// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusSources
import Testing

@testable import StatusConfiguration
@testable import StatusDaemon

@Suite("The problems of a configuration") struct ReadConfigurationTests {
    private func read(_ severities: [Problem.Severity]) -> ReadConfiguration {
        let problems = severities.enumerated().map { line, severity in
            Problem(severity, at: Origin(file: "a.yaml", line: line + 1), reason: "wrong")
        }
        return ReadConfiguration(
            LoadedConfiguration(configuration: Configuration(), problems: problems, failedFiles: []), Accounts())
    }

    @Test("are all listed if they are few")
    func little() {
        let read = read([.warning, .error, .error])
        #expect(read.errors.map(\.origin.line) == [2, 3])
        #expect(read.warnings.map(\.origin.line) == [1])
        #expect(read.errorCount == 2)
    }

    @Test("are limited to the first hundred of each kind, with the number of the others")
    func much() {
        let read = read(Array(repeating: .error, count: 1000) + Array(repeating: .warning, count: 100))
        #expect(read.errors.count == 101)
        #expect(
            read.errors.last?.description
                == "a.yaml: 900 more errors in this file and the files after it; run “statusctl verify”")
        #expect(read.warnings.count == 100)
        #expect(read.errorCount == 1000)
    }
}
