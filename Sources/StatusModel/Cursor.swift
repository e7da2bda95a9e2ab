// SPDX-License-Identifier: Apache-2.0

/// A place in the daemon's history.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Names one life of the daemon.
    public var epoch: Epoch
    /// Counts the events of that life.
    public var revision: Int

    /// The place behind event number `revision` of the life `epoch`.
    public init(epoch: Epoch, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public var description: String { "\(epoch):\(revision)" }
}
