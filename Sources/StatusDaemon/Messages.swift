// SPDX-License-Identifier: Apache-2.0

import Logging
import SourceKinds
import StatusModel
import SystemdClient

/// The kinds of messages that users read in the journal.
///
/// The ids never change: journal filters and the catalog depend on them.
enum MessageID: String {
    case started = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a01"
    case stopping = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a02"
    case changed = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a03"
    case selected = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a04"
    case added = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a05"
    case removed = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a06"
    case reloaded = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a07"
    case reloadFailed = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a08"
    case configurationProblem = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a09"
    case startFailed = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a0a"
    case messagesLost = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a0b"
    case refreshRequested = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a0d"
    case stateNotSaved = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a0e"
    case stateSavedAgain = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a0f"
    case stateSetAside = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a10"
    case cannotFollow = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a11"
    case alertFailed = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a12"
    case alertDelivered = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a13"
    case silenced = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a14"
    case unsilenced = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a15"
}

extension Logger.Metadata {
    static func of(_ id: MessageID) -> Logger.Metadata { [JournalFieldNames.messageID: .string(id.rawValue)] }

    /// The client that caused an event.
    static func of(_ caller: Caller) -> Logger.Metadata {
        ["caller-uid": .string(String(caller.user)), "caller-pid": .string(String(caller.process))]
    }

    /// The position of an error or a warning in the configuration.
    static func place(of problem: Problem) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["config-file": .string(problem.origin.file)]
        if let line = problem.origin.line { metadata["config-line"] = .string(String(line)) }
        if let server = problem.server { metadata["server"] = .string(server.rawValue) }
        return metadata
    }
}

extension Logger {
    /// How metadata becomes journal fields: `SERVER=`, and all others with the prefix `STATUSD_`.
    static let fieldNames = JournalFieldNames(prefix: "STATUSD_", exact: ["server"])

    /// Logs a message of a documented kind.
    func log(_ id: MessageID, level: Logger.Level, _ message: Logger.Message, metadata: Logger.Metadata = [:]) {
        log(level: level, message, metadata: metadata.merging(.of(id)) { $1 })
    }

    /// Logs an error or a warning in a configuration.
    func log(_ problem: Problem) {
        log(
            .configurationProblem, level: problem.severity == .error ? .error : .warning, "\(problem)",
            metadata: .place(of: problem))
    }
}
