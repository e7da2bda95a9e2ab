// SPDX-License-Identifier: Apache-2.0

public import StatusModel

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
