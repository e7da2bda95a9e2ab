// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import Varlink

/// The methods that reply later: `Refresh` and `Wait`.
extension ControlInterface {
    func refresh(_ parameters: RefreshParameters, _ call: MonitorCall<RefreshReply>) throws {
        let name = try parameters.server.map { try known($0) } ?? monitor.selectedState().name
        try registry.checkRefreshable(name)
        noteRefresh(of: name, by: Caller(call))
        call.perform { call throws(MonitorError) in
            do {
                try await self.refresh(name, answering: call)
            } catch is CancellationError {
                // The client has disconnected, or the daemon is shutting down and will close the connection.
            } catch {
                throw self.failure(for: error) ?? .cancelled
            }
        }
    }

    private func noteRefresh(of name: ServerName, by caller: Caller) {
        refreshes.log(
            "\(name): refresh requested", about: "\(name)",
            metadata: .of(.refreshRequested).merging(.of(caller)) { $1 }.merging(["server": "\(name)"]) { $1 })
    }

    /// Loads the status and replies with one event at the end; with `more`, also with one at the beginning.
    private func refresh(_ name: ServerName, answering call: MonitorCall<RefreshReply>) async throws {
        guard call.wantsMore else {
            try await registry.refresh(name)
            return call.reply(RefreshReply(event: try endOfRefresh(of: name)))
        }
        // A reload may have changed the server in between.
        try registry.checkRefreshable(name)
        // This event reports the load that is about to begin, or the running load that this call shares.
        var beginning: Event? = try monitor.beginRefresh(of: name)
        let stream = call.stream {
            defer { beginning = nil }
            return beginning.map { RefreshReply(event: $0) }
        }
        stream.wake()
        do {
            try await registry.refresh(name)
            stream.finish(RefreshReply(event: try endOfRefresh(of: name)))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            stream.fail(failure(for: error) ?? .cancelled)
        }
    }

    private func endOfRefresh(of name: ServerName) throws -> Event {
        let event = try monitor.event(.refreshed, about: name)
        if let server = event.server, server.phase == .failed {
            throw MonitorError.refreshFailed(server: name.rawValue, reason: server.message ?? "unknown")
        }
        return event
    }

    func wait(_ parameters: WaitParameters, _ call: MonitorCall<WaitReply>) throws {
        try parameters.check()
        let monitor = monitor
        let name = parameters.server
        let timeout = parameters.timeoutMilliseconds.map { Duration.milliseconds($0) }
        let wait = monitor.wait(for: name, since: parameters.since, where: parameters.condition)
        if let state = wait.found { return call.reply(WaitReply(server: state)) }
        if let timeout, timeout <= .zero { throw MonitorError.waitTimedOut(server: try? monitor.state(of: name)) }
        call.perform { call throws(MonitorError) in
            let state: ServerState?
            if let timeout {
                state = try? await withTimeLimit(timeout) { await wait.state() }
            } else {
                state = await wait.state()
            }
            if let state { return call.reply(WaitReply(server: state)) }
            if !Task.isCancelled { throw .waitTimedOut(server: try? monitor.state(of: name)) }
        }
    }
}

extension MonitorInterface.WaitParameters {
    /// Refuses conditions that can never be met.
    fileprivate func check() throws(MonitorError) {
        if let text, (try? StatusText(text)) == nil { throw .service(.invalidParameter("text")) }
        if let timeoutMilliseconds, timeoutMilliseconds < 0 {
            throw .service(.invalidParameter("timeoutMilliseconds"))
        }
        if level == nil, text == nil { throw .service(.invalidParameter("level")) }
    }

    /// Whether a state meets the condition: its status is current, and has this level or this text.
    fileprivate var condition: @Sendable (ServerState) -> Bool {
        let text = text.flatMap { StatusText(fitting: $0) }
        let level = level
        return { state in
            guard state.isCurrent, let status = state.status else { return false }
            return status.level == level || status.text == text
        }
    }
}
