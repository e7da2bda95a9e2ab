// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// Measures operations inside one process, each subject several times in turn with the others, and prints JSON.
@main
enum Main {
    static func main() async throws { try await run() }

    /// Not on the main actor, because each step of a stream would go to another thread and back.
    @concurrent private static func run() async throws {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
        let subjects = try Notifying.subjects + Monitoring.subjects + Encoding.subjects
        var results: [String: [Double]] = [:]
        for round in 0...rounds {
            for subject in subjects {
                let rate = try await measure(subject)
                // The first round warms up.
                if round > 0 { results[subject.name, default: []].append(rate) }
            }
        }
        print(json(subjects.map { ($0.name, results[$0.name] ?? []) }))
    }

    /// How often a second a subject runs.
    private static func measure(_ subject: Subject) async throws -> Double {
        let clock = ContinuousClock()
        let began = clock.now
        try await subject.run(subject.count)
        return Double(subject.count) / ((clock.now - began) / .seconds(1))
    }

    private static func json(_ results: [(String, [Double])]) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, rates) in results { writer.member(named: name, rates) }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// A measured operation, done `count` times in a run.
struct Subject {
    var name: String
    var count: Int
    var run: (_ count: Int) async throws -> Void
}
