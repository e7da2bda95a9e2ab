// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// The answer to a `List` call, which is written as the client reads it.
@EventLoop
final class ServerList {
    private let monitor: StatusMonitor
    private let scope: ServerScope
    /// The last server that was written or left out.
    private var last: ServerName?
    private var isComplete = false
    private var hasSelected = false
    /// The replies, if there are several.
    private var stream: VarlinkStream?

    init(_ monitor: StatusMonitor, _ scope: ServerScope) { (self.monitor, self.scope) = (monitor, scope) }

    /// Answers with one reply, or with `more` with several, of which the last has no servers.
    func answer(_ call: MonitorCall<MonitorInterface.ListReply>) {
        guard call.wantsMore else { return call.reply(inPieces: reply(limit: .max)) }
        // This object and the stream keep each other alive until the stream is closed.
        stream = call.untyped.stream { _ in
            if self.isComplete {
                self.stream?.finish { $0.member("servers", [ServerState]()) }
            } else {
                self.stream?.writeInPieces(self.reply(limit: EventStream.serversPerMessage))
            }
            return false
        } onClose: {
            self.stream = nil
        }
        stream?.wake()
    }

    /// Writes the next servers, at most about `limit` of them.
    private func reply(limit: Int) -> @EventLoop (inout JSONWriter) -> Bool {
        var count = 0
        var hasBegun = false
        return { writer in
            if !hasBegun { writer.beginArray("servers") }
            hasBegun = true
            count += self.writeSome(to: &writer)
            if !self.isComplete, count < limit { return true }
            writer.endArray()
            return false
        }
    }

    /// Writes a few servers; returns their number.
    private func writeSome(to writer: inout JSONWriter) -> Int {
        let (states, end) = monitor.states(after: last, limit: EventStream.serversPerPiece, in: scope)
        for var state in states {
            // While the list is written, the selection may move to a later server. The list must not show two.
            state.isSelected = state.isSelected && !hasSelected
            hasSelected = hasSelected || state.isSelected
            writer.value(state)
        }
        (last, isComplete) = (end, end == nil)
        return states.count
    }
}
