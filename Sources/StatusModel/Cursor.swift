// SPDX-License-Identifier: Apache-2.0

/// A position in the daemon's event log.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// The run of the daemon.
    public var epoch: Epoch
    /// The number of the event in that run.
    public var revision: Int

    /// The position after event number `revision` of the run `epoch`.
    public init(epoch: Epoch, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public var description: String { "\(epoch):\(revision)" }
}
