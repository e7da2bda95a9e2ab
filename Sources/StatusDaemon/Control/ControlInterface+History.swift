// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import StatusStore
import Varlink

/// The methods that read the history.
extension ControlInterface {
    func history(_ parameters: HistoryParameters, _ call: MonitorCall<HistoryReply>) throws {
        guard call.wantsMore else { throw MonitorError.service(.expectedMore) }
        let all = parameters.all ?? false
        if all, parameters.server != nil { throw MonitorError.service(.invalidParameter("all")) }
        if let limit = parameters.limit, limit < 0 { throw MonitorError.service(.invalidParameter("limit")) }
        if let since = parameters.since, let until = parameters.until, since > until {
            throw MonitorError.service(.invalidParameter("since"))
        }
        let server = all ? nil : try parameters.server ?? monitor.selectedState().name
        let query = HistoryQuery(
            server: server, since: parameters.since, until: parameters.until, level: parameters.level,
            limit: parameters.limit, selections: parameters.selections ?? true)
        call.perform { call in
            let buffer = HistoryBuffer()
            let stream = call.stream({ buffer.next() }, onClose: { buffer.close() })
            do {
                try await self.stream(query, through: buffer, stream, for: call.untyped.userID)
            } catch {
                stream.fail(self.historyFailure(for: error))
            }
        }
    }

    private func stream(
        _ query: HistoryQuery, through buffer: HistoryBuffer, _ stream: MethodStream<HistoryReply, MonitorError>,
        for account: UInt32
    ) async throws {
        var previous: HistoryPage?
        repeat {
            let (isFirst, last) = (previous == nil, previous)
            let page = try await state.read(for: account, isFirst: isFirst) { store, isCancelled throws(StoreFailure) in
                try store.history(query, after: last, isCancelled: isCancelled)
            }
            if isFirst, page.isLast, page.changes.isEmpty { try checkKnown(query.server) }
            buffer.fill(page.changes)
            stream.wake()
            // Only its position is still needed.
            previous = page
            previous?.changes = []
            await buffer.emptied()
        } while previous?.isLast == false && !stream.isClosed
        stream.finish(HistoryReply(change: nil))
    }

    func summary(_ parameters: SummaryParameters, _ call: MonitorCall<SummaryReply>) throws {
        let server = try parameters.server ?? monitor.selectedState().name
        let buckets = parameters.buckets ?? 1
        guard 1...1000 ~= buckets else { throw MonitorError.service(.invalidParameter("buckets")) }
        let now = Moment.now()
        let until = parameters.until ?? now.wall
        let dayBefore = max(until.milliseconds - 86_400_000, Timestamp.expressible.lowerBound)
        let since = parameters.since ?? Timestamp(milliseconds: dayBefore)
        guard since <= until else { throw MonitorError.service(.invalidParameter("since")) }
        call.perform { call throws(MonitorError) in
            do {
                let summary = try await self.state.read(for: call.untyped.userID) {
                    store, isCancelled throws(StoreFailure) in
                    try store.summary(
                        of: server, since: since, until: until, buckets: buckets, value: parameters.value, now: now,
                        isCancelled: isCancelled)
                }
                if summary.times.known == 0, summary.changes == 0 { try self.checkKnown(server) }
                call.reply(
                    SummaryReply(
                        server: summary.server.rawValue, since: summary.since.description,
                        until: summary.until.description, buckets: summary.buckets,
                        knownSince: summary.knownSince?.description,
                        measured: summary.measured.map {
                            MonitorInterface.Measured(name: $0.name, unit: $0.unit, names: $0.names)
                        }))
            } catch {
                throw self.historyFailure(for: error)
            }
        }
    }

    /// The error reply; a client that has disconnected gets none.
    private func historyFailure(for error: any Error) -> MonitorError {
        error is CancellationError ? .cancelled : failure(for: error) ?? .cancelled
    }

    /// Refuses a server that neither exists nor has a history.
    private func checkKnown(_ server: ServerName?) throws {
        if let server { _ = try monitor.state(of: server) }
    }
}

/// Holds a page of the history until the stream has written it.
@EventLoop
private final class HistoryBuffer {
    private var changes: ArraySlice<Change> = []
    private var isClosed = false
    private var waiter: CheckedContinuation<Void, Never>?

    func fill(_ changes: [Change]) { self.changes = changes[...] }

    /// The next reply; nil if there is none now.
    func next() -> MonitorInterface.HistoryReply? {
        if let change = changes.popFirst() { return MonitorInterface.HistoryReply(change: change) }
        end()
        return nil
    }

    /// Returns when the stream has written all entries, or was closed.
    func emptied() async {
        guard !changes.isEmpty, !isClosed else { return }
        await withCheckedContinuation { waiter = $0 }
    }

    func close() {
        isClosed = true
        changes = []
        end()
    }

    private func end() { waiter.take()?.resume() }
}
