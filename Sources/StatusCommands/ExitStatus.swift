// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import Varlink

/// The exit statuses of statusctl, which `--help` lists.
enum ExitStatus: Int32, CaseIterable, Sendable {
    case done = 0
    case failed = 1
    case notOK = 3
    case noSuchServer = 4
    case nothingToRefresh = 5
    case usage = 64
    case noDaemon = 69
    case timedOut = 75
    case permissionDenied = 77
    case invalidConfiguration = 78

    var meaning: String {
        switch self {
        case .done: "done; for status: the server is ok now"
        case .failed: "failed"
        case .notOK: "the server is not ok (status)"
        case .noSuchServer: "no such server, or no server is selected"
        case .nothingToRefresh: "nothing loads the server's status (refresh)"
        case .usage: "invalid command line"
        case .noDaemon: "cannot reach the daemon"
        case .timedOut: "timed out"
        case .permissionDenied: "permission denied"
        case .invalidConfiguration: "invalid configuration"
        }
    }

    static let ofEveryCommand: Set<ExitStatus> = [.done, .failed, .usage, .permissionDenied]

    /// The table in `--help`, with these statuses in addition to ``ofEveryCommand``.
    static func table(_ more: Set<ExitStatus>) -> String {
        let lines = allCases.filter { ofEveryCommand.contains($0) || more.contains($0) }.map { status in
            let meaning = status == .done && !more.contains(.notOK) ? "done" : status.meaning
            return "  \(status.rawValue < 10 ? " " : "")\(status.rawValue)  \(meaning)"
        }
        return "Exit status:\n" + lines.joined(separator: "\n")
    }

    init(_ error: MonitorError) {
        self =
            switch error {
            case .noSuchServer, .nothingSelected: .noSuchServer
            case .notRefreshable: .nothingToRefresh
            case .waitTimedOut: .timedOut
            case .startFailed: .noDaemon
            case .reloadFailed: .invalidConfiguration
            case .service(.permissionDenied): .permissionDenied
            case .connection(let error): ExitStatus(error.code)
            case .isConfigured, .isFollowed, .refreshFailed, .invalidStatus, .historyUnavailable, .invalidSilence,
                .noSuchReceiver, .limitReached, .otherMachine, .reportRefused, .service, .other, .cancelled:
                .failed
            }
    }

    init(_ code: VarlinkClientError.Code) {
        self =
            switch code {
            case .noService, .closed, .timedOut: .noDaemon
            case .permissionDenied: .permissionDenied
            case .invalidAddress: .usage
            case .malformedReply, .system: .failed
            }
    }
}
