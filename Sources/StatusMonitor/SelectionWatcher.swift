// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel
import Synchronization

/// The daemon's own watcher: follows the selected server and tells the reporters.
///
/// A `task(id:)` over the selection: the watcher of a server is cancelled, and has ended, before that of the next begins.
/// Cancelling is not trusted, though: whether a state is still current is asked when it is reported.
public final class SelectionWatcher: Sendable {
    private let monitor: StatusMonitor
    private let reporters: [any Reporter]
    private let actor: (any Actor)?
    private let progress = Mutex(WatcherProgress())

    /// A watcher of the monitor's selection.
    ///
    /// - Parameters:
    ///   - monitor: whose selection.
    ///   - reporters: whom to tell, in this order.
    ///   - actor: where the watcher runs; the reporters are called there.
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

    /// Returns once the reporters have been told of the selection of this revision, or of a later one, with the newest state of its server.
    ///
    /// Returns at once where the watcher has ended, since nobody is told any more then.
    public func reported(_ selection: Selection) async {
        await withCheckedContinuation { continuation in
            if progress.withLock({ $0.wait(for: selection.revision, continuation) }) { continuation.resume() }
        }
        await reportAgain(selection, isolation: actor)
    }

    /// Has what reporters may hold back shown at once, as after a switch.
    private func reportAgain(_ selection: Selection, isolation actor: isolated (any Actor)?) {
        guard let server = selection.server, let state = try? monitor.state(of: server.name) else { return }
        report(Report(server: state, isSwitch: true), of: selection)
    }

    private func follow(_ selection: Selection, isolation actor: isolated (any Actor)?) async {
        guard let server = selection.server else {
            return report(Report(server: nil, isSwitch: true), of: selection)
        }
        // Listen first, then look, then go on listening: nothing is missed in between.
        var updates = monitor.bus.notifications(
            named: .didUpdateStatus, object: server, bufferingPolicy: .bufferingNewest(1)
        ).makeAsyncIterator()
        guard let state = try? monitor.state(of: server.name) else { return }
        var seen = state.revision
        report(Report(server: state, isSwitch: true), of: selection)
        while await updates.next(isolation: actor) != nil {
            // Notifications may overtake one another, so that the newest one that is kept need not be of the newest state: each is
            // taken as a call to look at that.
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

/// How far the reporters have been told, and who waits for it.
private struct WatcherProgress {
    private enum State {
        case reported(Int)
        case ended
    }
    private typealias Waiter = (revision: Int, continuation: CheckedContinuation<Void, Never>)

    private var state = State.reported(-1)
    private var waiters: [Waiter] = []

    /// Takes a waiter; returns true where there is nothing to wait for.
    mutating func wait(for revision: Int, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard case .reported(let reported) = state, reported < revision else { return true }
        waiters.append((revision, continuation))
        return false
    }

    /// The reporters have been told; returns who waited for it.
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
