// SPDX-License-Identifier: Apache-2.0

/// A position in the daemon's event log.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Names the events.
    public var epoch: Epoch
    /// The number of the event in that epoch.
    public var revision: Int

    /// The position after event number `revision` of `epoch`.
    public init(epoch: Epoch, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public var description: String { "\(epoch):\(revision)" }
}
