// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import Varlink

/// The payload of `$state`: whether a host is there.
struct Presence: Equatable, Sendable {
    static let longestPayload = 4096

    var state: HostState
    /// The number of the host's connection to the broker, which grows with each connection.
    var epoch: Int
    /// Identifies the machine, because two machines may have the same name.
    var machine: String
    /// The epoch of the first connection since this machine has been publishing; nil in a will.
    ///
    /// Of two machines with one name, the one with the lower number stays. Unlike `epoch`, it does not change when that
    /// one connects again.
    var first: Int?
    var version: String?
    var at: Timestamp?
    /// The number of published servers.
    var servers: Int?
}

extension Presence: JSONReadable, JSONWritable {
    // Unknown members are ignored, so that hosts understand newer ones.
    init(from reader: inout JSONReader) throws(JSONError) {
        var state: HostState?
        var epoch: Int?
        var (machine, version): (String?, String?)
        var at: Timestamp?
        var (first, servers): (Int?, Int?)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "state": state = try HostState(from: &reader)
            case "epoch": epoch = try reader.integer()
            case "machine": machine = try reader.string()
            case "first": first = try Int?(from: &reader)
            case "version": version = try String?(from: &reader).map { VisibleText.excerpt($0, bytes: 32) }
            case "at": at = try Timestamp?(from: &reader)
            case "servers": servers = try Int?(from: &reader)
            default: try reader.skip()
            }
        }
        guard let state else { throw .missingMember("state") }
        guard let epoch else { throw .missingMember("epoch") }
        guard let machine, Self.isMachine(machine) else { throw .missingMember("machine") }
        self.init(
            state: state, epoch: epoch, machine: machine, first: first, version: version, at: at, servers: servers)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("state", state)
            writer.member("epoch", epoch)
            writer.member("machine", machine)
            if let first { writer.member("first", first) }
            if let version { writer.member("version", version) }
            if let at { writer.member("at", at) }
            if let servers { writer.member("servers", servers) }
        }
    }

    /// Whether a text is 32 hexadecimal digits.
    static func isMachine(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { byte in (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) }
    }

    /// Reads the payload of a message; nil if it is invalid or too long.
    static func read(_ payload: [UInt8], at wall: Timestamp) -> Presence? {
        guard payload.count <= longestPayload,
            let presence = try? JSONReader.read(payload, { reader throws(JSONError) in try Presence(from: &reader) }),
            EpochCounter.isPlausible(presence.epoch, at: wall)
        else { return nil }
        return presence
    }

    var payload: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}

extension Timestamp {
    /// The time by the wall clock.
    static var now: Timestamp { Timestamp(milliseconds: Int64(nanoseconds(of: CLOCK_REALTIME) / 1_000_000)) }
}
