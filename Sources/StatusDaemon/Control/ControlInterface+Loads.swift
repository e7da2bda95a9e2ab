// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import Varlink

/// The methods that return when something has happened: `Refresh` and `Wait`.
extension ControlInterface {
    func refresh(_ call: VarlinkCall) throws {
        let parameters = try call.parameters(ServerParameters.self)
        try checkAccess(of: call)
        let name = try parameters.server.map { try known($0) } ?? monitor.selectedState().name
        try registry.checkRefreshable(name)
        call.perform { call in
            do {
                try await self.refresh(name, answering: call)
            } catch is CancellationError {
                // The client has left, or the daemon ends, by which the connection is closed: there is nobody to answer.
            } catch {
                call.fail(VarlinkError(any: error))
            }
        }
    }

    /// Loads, and answers: with one event at the end, or with one at the beginning, too, where the client asked for more.
    private func refresh(_ name: ServerName, answering call: VarlinkCall) async throws {
        guard call.wantsMore else {
            try await registry.refresh(name)
            let event = try endOfRefresh(of: name)
            return call.reply { $0.member("event", event) }
        }
        // A reload may have come in between.
        try registry.checkRefreshable(name)
        // The load that is about to begin, or the one that is joined, is what this tells of.
        var beginning: Event? = try monitor.beginRefresh(of: name)
        let stream = call.stream { writer in
            guard let event = beginning else { return false }
            beginning = nil
            writer.member("event", event)
            return true
        } onClose: {
        }
        stream.wake()
        do {
            try await registry.refresh(name)
            let event = try endOfRefresh(of: name)
            stream.finish { $0.member("event", event) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            stream.fail(VarlinkError(any: error))
        }
    }

    private func endOfRefresh(of name: ServerName) throws -> Event {
        let event = try monitor.event(.refreshed, about: name)
        if let server = event.server, server.phase == .failed {
            throw VarlinkError.refreshFailed(name.rawValue, server.message ?? "unknown")
        }
        return event
    }

    func wait(_ call: VarlinkCall) throws {
        let parameters = try call.parameters(WaitParameters.self)
        // A client that gets no answer waits for nothing.
        if !call.isHeard { return call.reply() }
        let monitor = monitor
        let name = parameters.server
        let wait = monitor.wait(for: name, where: parameters.condition)
        if let state = wait.found { return call.reply { $0.member("server", state) } }
        if let timeout = parameters.timeout, timeout <= .zero {
            return call.fail(.waitTimedOut(try? monitor.state(of: name)))
        }
        call.perform { call in
            let state: ServerState?
            if let timeout = parameters.timeout {
                state = try? await withTimeLimit(timeout) { await wait.state() }
            } else {
                state = await wait.state()
            }
            if let state {
                call.reply { $0.member("server", state) }
            } else if !Task.isCancelled {
                call.fail(.waitTimedOut(try? monitor.state(of: name)))
            }
        }
    }
}

extension WaitParameters {
    /// Whether a state is what is waited for: what it shows is of now, and has this level or this text.
    fileprivate var condition: @Sendable (ServerState) -> Bool {
        let text = text.flatMap { StatusText(fitting: $0) }
        let level = level
        return { state in
            guard state.isCurrent, let status = state.status else { return false }
            return status.level == level || status.text == text
        }
    }
}
