// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel

/// Writes changes to the journal, or to standard error, one entry each.
@EventLoop
final class JournalWriter: ChangeSink {
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    func record(_ recorded: RecordedChange) {
        let omitted = recorded.change.omitted
        guard let server = recorded.server else {
            guard recorded.change.kind == .selected else { return }
            let message: Logger.Message = "no server selected\(Self.note(ofOmitted: omitted, "selection"))"
            return logger.log(.selected, level: .info, message, metadata: Self.metadata(of: recorded))
        }
        switch recorded.change.kind {
        case .changed:
            let message: Logger.Message =
                "\(server.name): \(server.markedHeadline)\(Self.note(ofOmitted: omitted, "change"))"
            write(.changed, server, message, recorded)
        case .selected:
            let message: Logger.Message =
                "selected \(server.name): \(server.markedHeadline)\(Self.note(ofOmitted: omitted, "selection"))"
            write(.selected, server, message, recorded)
        case .added: write(.added, server, "\(server.name) added", recorded)
        case .removed:
            write(.removed, server, "\(server.name) removed\(Self.note(ofOmitted: omitted, "change"))", recorded)
        case .started, .stopped: break
        }
    }

    func recordOmissions(_ phrase: String) { logger.log(.serversOmitted, level: .info, "left out earlier: \(phrase)") }

    private static func note(ofOmitted count: Int, _ what: String) -> String {
        count > 0 ? " (\(count) earlier \(what)\(count == 1 ? "" : "s") left out)" : ""
    }

    private static func metadata(of recorded: RecordedChange) -> Logger.Metadata {
        var metadata = recorded.caller.map { Logger.Metadata.of($0) } ?? [:]
        if let old = recorded.oldText { metadata["old-text"] = .string(old) }
        if recorded.change.omitted > 0 { metadata["omitted"] = .string(String(recorded.change.omitted)) }
        return metadata
    }

    private func write(_ id: MessageID, _ server: ServerState, _ message: Logger.Message, _ recorded: RecordedChange) {
        var metadata = Self.metadata(of: recorded)
        metadata["server"] = .string(server.name.rawValue)
        metadata["text"] = .string(server.headline)
        metadata["phase"] = .string(server.phase.rawValue)
        metadata["source"] = .string(server.source)
        metadata["selected"] = .string(server.isSelected ? "yes" : "no")
        metadata["revision"] = .string(String(recorded.change.revision))
        if let level = server.status?.level { metadata["level"] = .string(level.rawValue) }
        logger.log(id, level: id == .changed ? server.journalLevel : .info, message, metadata: metadata)
    }
}

extension ServerState {
    /// The log level of a change.
    fileprivate var journalLevel: Logger.Level {
        if phase == .failed || isStale { return .warning }
        switch status?.level {
        case .critical: return .error
        case .warning, .unknown: return .warning
        case .ok, nil: return .notice
        }
    }
}
