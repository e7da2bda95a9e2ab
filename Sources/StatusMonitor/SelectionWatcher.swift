// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
public import StatusModel
import Synchronization

/// Receives the state of the selected server.
public protocol Reporter: Sendable {
    /// Takes the state to show now.
    ///
    /// It is called in order, on the watcher's actor, and only while `report` is current. It must not block.
    func report(_ report: Report)
}

/// The state of the selected server.
public struct Report: Sendable, Equatable {
    /// The selected server's state; nil if none is selected.
    public let server: ServerState?
    /// Whether the selection just moved here, which must be shown at once.
    public let isSwitch: Bool

    /// Creates a report.
    public init(server: ServerState?, isSwitch: Bool) {
        self.server = server
        self.isSwitch = isSwitch
    }
}

/// Follows the selected server and calls the reporters.
///
/// Like `task(id:)`: the task for one server is cancelled, and ends, before the task for the next server begins.
/// Because cancellation takes effect late, the selection is checked again when a state is reported.
public final class SelectionWatcher: Sendable {
    private let monitor: StatusMonitor
    private let reporters: [any Reporter]
    private let actor: (any Actor)?
    private let progress = Mutex(WatcherProgress())

    /// Creates a watcher.
    ///
    /// - Parameters:
    ///   - monitor: the monitor whose selection it follows.
    ///   - reporters: the reporters, in the order in which they are called.
    ///   - actor: the actor on which the watcher runs and calls the reporters.
    public init(monitor: StatusMonitor, reporters: [any Reporter], isolatedTo actor: (any Actor)? = nil) {
        self.monitor = monitor
        self.reporters = reporters
        self.actor = actor
    }

    /// Watches until the task is cancelled.
    public func run() async {
        await forLatest(of: monitor.selections, name: "watcher of the selected server") { selection in
            await self.follow(selection, isolation: self.actor)
        }
        progress.withLock { $0.end() }.forEach { $0.resume() }
    }

    /// Returns when the reporters have the newest state of this selection's server, or of a later selection.
    ///
    /// Returns at once if the watcher has ended.
    public func reported(_ selection: Selection) async {
        await withCheckedContinuation { continuation in
            if progress.withLock({ $0.wait(for: selection.revision, continuation) }) { continuation.resume() }
        }
        await reportAgain(selection, isolation: actor)
    }

    /// Makes reporters show at once a state that they may hold back.
    private func reportAgain(_ selection: Selection, isolation actor: isolated (any Actor)?) {
        guard let server = selection.server, let state = try? monitor.state(of: server.name) else { return }
        report(Report(server: state, isSwitch: true), of: selection)
    }

    private func follow(_ selection: Selection, isolation actor: isolated (any Actor)?) async {
        guard let server = selection.server else {
            return report(Report(server: nil, isSwitch: true), of: selection)
        }
        // Register before reading the state, so that no update is missed.
        var updates = monitor.bus.notifications(
            named: .didUpdateStatus, object: server, bufferingPolicy: .bufferingNewest(1)
        ).makeAsyncIterator()
        guard let state = try? monitor.state(of: server.name) else { return }
        var seen = state.revision
        report(Report(server: state, isSwitch: true), of: selection)
        while await updates.next(isolation: actor) != nil {
            // Notifications may overtake one another, so the buffered one may not have the newest state. Read the state
            // instead.
            guard let state = try? monitor.state(of: server.name), state.revision > seen else { continue }
            seen = state.revision
            report(Report(server: state, isSwitch: false), of: selection)
        }
    }

    private func report(_ report: Report, of selection: Selection) {
        guard monitor.selection == selection else { return }
        for reporter in reporters { reporter.report(report) }
        progress.withLock { $0.advance(to: selection.revision) }.forEach { $0.resume() }
    }
}

/// The last selection that was reported, and the callers that wait for one.
private struct WatcherProgress {
    private enum State {
        case reported(Int)
        case ended
    }
    private typealias Waiter = (revision: Int, continuation: CheckedContinuation<Void, Never>)

    private var state = State.reported(-1)
    private var waiters: [Waiter] = []

    /// Adds a waiter; returns true if there is nothing to wait for.
    mutating func wait(for revision: Int, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard case .reported(let reported) = state, reported < revision else { return true }
        waiters.append((revision, continuation))
        return false
    }

    /// Notes that a selection was reported; returns the callers that waited for it.
    mutating func advance(to revision: Int) -> [CheckedContinuation<Void, Never>] {
        guard case .reported(let reported) = state, reported < revision else { return [] }
        state = .reported(revision)
        let due = waiters.filter { $0.revision <= revision }
        waiters.removeAll { $0.revision <= revision }
        return due.map(\.continuation)
    }

    mutating func end() -> [CheckedContinuation<Void, Never>] {
        state = .ended
        defer { waiters = [] }
        return waiters.map(\.continuation)
    }
}
