// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// Somebody who is told how the selected server is doing.
public protocol Reporter: Sendable {
    /// Takes what is to be shown now.
    ///
    /// Called in order, on the watcher's actor, and only while `report` is current; it must not wait.
    func report(_ report: Report)
}

/// How the selected server is doing.
public struct Report: Sendable, Equatable {
    /// The selected server as it is now; nil where none is selected.
    public let server: ServerState?
    /// Whether the selection just moved here, which must be shown at once.
    public let isSwitch: Bool

    /// A report of a server's state.
    public init(server: ServerState?, isSwitch: Bool) {
        self.server = server
        self.isSwitch = isSwitch
    }
}
