// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor

/// Keeps the worst server selected, while the registry's selection follows it.
///
/// It moves the selection at the end of a turn, after the streams have written the events of the server that was
/// selected until then, as before a client's selection.
@EventLoop
final class WorstFollower: ChangeSink, EndOfTurnWork {
    private let registry: ServerRegistry
    private var isScheduled = false

    init(registry: ServerRegistry) { self.registry = registry }

    func record(_ change: RecordedChange) -> ChangeReception {
        if registry.servers.followsWorst, !isScheduled, mayMove(change) {
            isScheduled = true
            EventLoop.atEndOfTurn(self)
        }
        return .held
    }

    private func mayMove(_ change: RecordedChange) -> Bool {
        guard let server = change.server, let selected = try? registry.monitor.selectedState() else { return true }
        return server.isSelected || server.severity > selected.severity
    }

    func turnEnds() {
        isScheduled = false
        if registry.servers.followsWorst { registry.monitor.selectWorst() }
    }
}
