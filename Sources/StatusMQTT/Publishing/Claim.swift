// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Varlink

/// The payload of `$claim`: a second machine says that it wants to be this host.
enum Claim {
    static func payload(of machine: String, at time: Timestamp) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("machine", machine)
            writer.member("at", time)
        }
        return writer.bytes
    }

    /// The machine that claims; nil if the payload is invalid.
    static func machine(in payload: [UInt8]) -> String? {
        guard payload.count <= Presence.longestPayload else { return nil }
        let machine = try? JSONReader.read(payload) { reader throws(JSONError) in
            var machine: String?
            try reader.object { name, reader throws(JSONError) in
                if name == "machine" { machine = try reader.string() } else { try reader.skip() }
            }
            return machine
        }
        return machine.flatMap { $0 }.flatMap { Presence.isMachine($0) ? $0 : nil }
    }
}
