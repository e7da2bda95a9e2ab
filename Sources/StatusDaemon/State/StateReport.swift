// SPDX-License-Identifier: Apache-2.0

import Logging
import StatusStore

/// Reports each problem of the store once, and its end.
struct StateReport {
    private let path: String
    private let logger: Logger
    /// Why nothing can be saved now; nil if it can.
    private var failure: String?
    /// The file that was set aside in this run, with the reason.
    private var setAside: String?
    /// The data that was missing or unreadable at the start.
    private var losses: [String] = []

    init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    /// The lasting problems, as phrases.
    var notices: [String] {
        let failures = failure.map { "the state is not saved in \(path): \($0); retrying" }
        return [failures, setAside.map { "an earlier state was set aside: \($0)" }].compactMap { $0 } + losses
    }

    mutating func note(_ opening: StatusStore.Opening) {
        if let reason = opening.setAside { note(setAside: reason) }
        let damagedRows = opening.contents.damagedRows
        if damagedRows > 0 {
            let servers = damagedRows == 1 ? "one server" : "\(damagedRows) servers"
            note(loss: "the status of \(servers) could not be read from \(path)")
        }
        if opening.isEmpty {
            note(loss: "the file \(path) had no state; nothing was restored")
        }
        if let failure = opening.failure { note(failure) }
    }

    private mutating func note(loss: String) {
        losses.append(loss)
        logger.log(.stateSetAside, level: .warning, "\(loss)")
    }

    mutating func note(_ failure: StoreFailure) {
        if failure.remedy == .beginAnew { return note(setAside: failure.description) }
        guard self.failure != failure.description else { return }
        self.failure = failure.description
        logger.log(
            .stateNotSaved, level: .error,
            "cannot save the state in \(path): \(failure); retrying; a restart now would lose recent changes")
    }

    private mutating func note(setAside reason: String) {
        setAside = reason
        logger.log(.stateSetAside, level: .error, "cannot use the state in \(path): \(reason); starting a new file")
    }

    /// Notes that a batch was saved.
    ///
    /// - Parameter droppedChanges: the number of entries missing from the history because they could not be saved.
    mutating func noteSaved(droppedChanges: Int) {
        guard failure != nil || droppedChanges > 0 else { return }
        failure = nil
        let lacking = droppedChanges > 0 ? "; the history lacks \(droppedChanges) changes" : ""
        logger.log(.stateSavedAgain, level: .notice, "the state is saved again in \(path)\(lacking)")
    }

    /// Notes that the last changes could not be saved.
    func noteUnsavedEnd() {
        logger.log(
            .stateNotSaved, level: .error,
            "cannot save the last changes in \(path); they will be missing after the next start")
    }
}
