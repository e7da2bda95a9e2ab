// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Varlink

/// What orders the states of a server: of two, hosts that follow take the one with the higher epoch, or else revision.
struct StateVersion: Comparable {
    var epoch: Int
    var revision: Int

    /// Reads it from the payload of a server; nil if there is none that a host can have.
    static func read(_ payload: [UInt8], at wall: Timestamp) -> StateVersion? {
        let members = try? JSONReader.read(payload) { reader throws(JSONError) in
            var (epoch, revision): (Int?, Int?)
            try reader.object { name, reader throws(JSONError) in
                switch name {
                case "epoch": epoch = try reader.integer()
                case "revision": revision = try reader.integer()
                default: try reader.skip()
                }
            }
            return (epoch, revision)
        }
        guard let epoch = members?.0, let revision = members?.1, EpochCounter.isPlausible(epoch, at: wall) else {
            return nil
        }
        return StateVersion(epoch: epoch, revision: revision)
    }

    static func < (left: StateVersion, right: StateVersion) -> Bool {
        (left.epoch, left.revision) < (right.epoch, right.revision)
    }
}
