// SPDX-License-Identifier: Apache-2.0

/// A server's state at one revision, shared by the event log, its readers and observers.
///
/// A class, so that an event costs one copy of the state, however many readers it has.
public final class ServerSnapshot: Sendable, Hashable {
    /// The state at that revision.
    public let state: ServerState

    /// Keeps a copy of `state`.
    public init(_ state: ServerState) { self.state = state }

    public static func == (left: ServerSnapshot, right: ServerSnapshot) -> Bool {
        left === right || left.state == right.state
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(state) }
}
