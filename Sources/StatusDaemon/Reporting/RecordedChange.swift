// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel

/// A change to record, in the journal and in the history.
struct RecordedChange {
    var change: Change
    /// The text of the server's record before this one.
    var oldText: String?
    /// The client that caused it.
    var caller: Caller?

    var server: ServerState? { change.server }
}

/// Keeps recorded changes.
@EventLoop
protocol ChangeSink: AnyObject {
    /// Takes a change, in the order of the log.
    func record(_ recorded: RecordedChange)

    /// Takes a phrase about additions and removals that were not recorded.
    func recordOmissions(_ phrase: String)
}

extension ChangeSink {
    func recordOmissions(_ phrase: String) {}
}
