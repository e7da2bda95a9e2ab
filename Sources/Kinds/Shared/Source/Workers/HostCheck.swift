// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusInterface
import StatusModel
import StatusWorkers
public import Varlink

/// Settings of a check of this host that may block, for example on a dead disk.
///
/// A process that waits for a dead disk cannot be killed. So a worker carries out the check, and the daemon can abandon
/// it. One worker carries out the checks of all kinds and servers, one after another.
public protocol HostCheckMaking: CheckMaking, JSONStructure {
    /// What may not answer if the check does not end, such as “the disk of /srv”.
    nonisolated var suspect: String { get }

    /// Checks; may block indefinitely.
    ///
    /// - Throws: ``CheckFailure`` if the status cannot be determined.
    nonisolated func check() throws(CheckFailure) -> CheckResult
}

extension HostCheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { HostCheck(self, order) }

    nonisolated func timedOut(after time: Duration) -> CheckResult {
        silent("the check timed out after \(TimeSpan.text(time))")
    }

    nonisolated func silent(_ reason: String) -> CheckResult {
        CheckResult(.critical, "\(reason); \(suspect) may not answer")
    }
}

/// Runs a check of this host in a worker.
struct HostCheck: Check {
    let settings: any HostCheckMaking
    private let server: ServerName
    private let timeout: Duration
    private let pool: WorkerPool<HostCall>

    var resource: CheckBudget.Resource { .host }

    @EventLoop init(_ settings: any HostCheckMaking, _ order: SourceOrder) {
        self.settings = settings
        (server, timeout) = (order.server, order.schedule.timeout)
        pool = order.environment.shared(WorkerPool<HostCall>.self)
    }

    func run() async throws -> CheckResult { try await run {} }

    /// - Parameter onAnswer: called if the worker has told the status, so that no disk of it is dead.
    func run(onAnswer: () async -> Void) async throws -> CheckResult {
        do {
            guard let answer = try await pool.run(HostCall(settings: settings), of: server, within: timeout) else {
                return settings.timedOut(after: timeout)
            }
            let result = try answer.result.get()
            await onAnswer()
            return result
        } catch is WorkerLost {
            throw CheckFailure("the worker ended during the check")
        } catch let error as StuckCheck {
            return settings.silent("\(error)")
        }
    }
}

/// A call to a worker that checks this host: the kind, and the settings.
struct HostCall: WorkerCall, JSONStructure {
    typealias Answer = HostAnswer

    let settings: any HostCheckMaking

    init(settings: any HostCheckMaking) { self.settings = settings }

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(place: .ownProgram, role: .hostWorker, purpose: "check this host")
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        var kind: (any HostCheckMaking.Type)?
        var settings: (any HostCheckMaking)?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "kind": kind = SourceKinds.kind(try String(from: &reader)) as? any HostCheckMaking.Type
            case "settings": settings = try kind?.init(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let settings else { throw .missingMember("settings") }
        self.settings = settings
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("kind", AnySourceSettings(settings).key)
        writer.member("settings", settings)
    }
}

/// The result of a check of this host, or the reason why there is none.
struct HostAnswer: WorkerAnswer, JSONStructure, Equatable {
    let result: Result<CheckResult, CheckFailure>

    var leavesWorkerIdle: Bool { true }

    init(_ result: Result<CheckResult, CheckFailure>) { self.result = result }

    init(from reader: inout JSONReader) throws(JSONError) {
        var level: Level?
        var text: String?
        var values: [MeasuredValue] = []
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "level": level = Level(rawValue: try String(from: &reader))
            case "text": text = try String(from: &reader)
            case "values": values = try [MeasuredValue](from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let text else { throw .missingMember("text") }
        result = level.map { .success(CheckResult($0, text, values: values)) } ?? .failure(CheckFailure(text))
    }

    func writeMembers(to writer: inout JSONWriter) {
        switch result {
        case .success(let found):
            writer.member("level", found.level.rawValue)
            writer.member("text", found.text)
            writer.member("values", found.values)
        case .failure(let failure): writer.member("text", failure.description)
        }
    }
}
