// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel

/// A change to record in the journal and the history.
struct RecordedChange {
    /// The subject of an entry; entries of one subject are limited together.
    enum Subject: Hashable {
        case server(ServerName)
        /// The moves of the selection.
        case selection
    }

    /// How bad a server is, and whether its status is current: what sets the priority of an entry, besides its text.
    struct Grade: Equatable {
        let level: Level?
        let phase: Phase
        let isStale: Bool
    }

    let kind: ChangeKind
    let at: Timestamp
    let revision: Int
    /// The server after the change; nil if none is selected any more.
    let snapshot: ServerSnapshot?
    let caller: Caller?
    /// The number of earlier changes of the subject that have no entry.
    var omitted = 0

    var server: ServerState? { snapshot?.state }

    var grade: Grade? {
        snapshot.map { Grade(level: $0.state.countedLevel, phase: $0.state.phase, isStale: $0.state.isStale) }
    }

    /// Whether this is the subject, which is compared without a copy of the server's name.
    func isOf(_ subject: Subject?) -> Bool {
        switch subject {
        case .server(let name): kind != .selected && snapshot?.state.name == name
        case .selection: kind == .selected || snapshot == nil
        case nil: false
        }
    }

    var subject: Subject {
        guard kind != .selected, let name = snapshot?.state.name else { return .selection }
        return .server(name)
    }
}

/// Whether a change has an entry of its own.
enum ChangeReception {
    case recorded
    /// It has none yet, and the subject's next change replaces it.
    case held
}

@EventLoop
protocol ChangeSink: AnyObject {
    /// Takes a change, in the order of the log; after one that is held, the omitted ones may not be taken.
    func record(_ change: RecordedChange) -> ChangeReception
}
