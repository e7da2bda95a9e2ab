// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
public import StatusModel

/// Receives the state of the selected server.
public protocol Reporter: Sendable {
    /// Takes the state to show now.
    ///
    /// It is called in order, on the watcher's actor, and only while `report` is current. It must not block.
    func report(_ report: Report)
}

public struct Report: Sendable, Equatable {
    /// The selected server's state; nil if none is selected.
    public let server: ServerState?
    /// Whether the selection just moved here, which must be shown at once.
    public let isSwitch: Bool

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

    /// Creates a watcher.
    ///
    /// - Parameters:
    ///   - monitor: the monitor whose selection it follows.
    ///   - reporters: the reporters, in the order in which they are called.
    ///   - actor: the actor on which the watcher runs and calls the reporters, so that their reports keep the order.
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
    }

    /// Reports the newest state of this selection's server, unless the selection has moved since.
    ///
    /// Reporters must show it at once, even if they hold back another state.
    public func report(_ selection: Selection) async { await reportSwitch(selection, isolation: actor) }

    private func reportSwitch(_ selection: Selection, isolation actor: isolated (any Actor)?) {
        let state = selection.server.flatMap { try? monitor.state(of: $0.name) }
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
    }
}
