// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Varlink

/// Announces this host to Home Assistant as a device, with a sensor for each server.
///
/// This is device-based discovery, since Home Assistant 2024.11
/// (<https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload>).
struct Discovery {
    private let machine: String
    private let version: String
    /// The components of the last message, or of an earlier one at the broker.
    private var announced: Set<ServerName> = []
    private var last: Set<ServerName>?

    init(machine: String, version: String) { (self.machine, self.version) = (machine, version) }

    /// The topic of the message about a host.
    static func topic(of host: String) -> String { "homeassistant/device/statusd-\(identifier(host))/config" }

    /// These servers may have been announced before.
    mutating func note(_ names: Set<ServerName>) {
        announced.formUnion(names)
        last = nil
    }

    /// The message for these servers; nil if the last one is still right.
    mutating func next(names: Set<ServerName>, host: String) -> OutgoingMessage? {
        guard last != names else { return nil }
        // A component that is only left out would stay. It must come once without its settings.
        let removed = announced.subtracting(names)
        (last, announced) = (names, names)
        return OutgoingMessage(
            topic: Self.topic(of: host),
            payload: payload(names.sorted(), removed.sorted(), host))
    }

    private func payload(_ names: [ServerName], _ removed: [ServerName], _ host: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("dev") { writer in
                writer.member("ids", ["statusd-\(machine)"])
                writer.member("name", host)
                writer.member("mf", "statusd")
                writer.member("sw", version)
            }
            writer.member("o") { writer in
                writer.member("name", "statusd-mqtt")
                writer.member("sw", version)
            }
            writer.member("availability_topic", Topic.presence(host: host).text)
            // These are the payloads that Home Assistant expects.
            writer.member(
                "availability_template",
                "{{ 'online' if value_json is defined and value_json.state == 'ready' else 'offline' }}")
            writer.member("cmps") { writer in
                for name in names { writer.member(named: Self.identifier(name.rawValue), component(name, host)) }
                for name in removed { writer.member(named: Self.identifier(name.rawValue), Removed()) }
            }
            writer.member("qos", 1)
        }
        return writer.bytes
    }

    private func component(_ name: ServerName, _ host: String) -> Sensor {
        Sensor(
            name: name.rawValue, identifier: "statusd-\(machine)-\(name)", topic: Topic.server(host: host, name).text)
    }

    /// Home Assistant permits only letters, digits, `_` and `-` in identifiers.
    private static func identifier(_ name: String) -> String {
        var identifier = ""
        for byte in name.utf8 {
            let isPlain =
                (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "-")
            // Each other character has a code of its own, so that no two names have the same identifier.
            identifier += isPlain ? String(decoding: [byte], as: UTF8.self) : "_\(String(byte, radix: 16))"
        }
        return identifier
    }

    private struct Sensor: JSONWritable {
        /// A server without a current status has the level of its last one, or “unknown” if there was none.
        private static let level =
            "{{ 'unknown' if value_json is not defined or value_json.phase == 'failed' or value_json.stale "
            + "else value_json.get('status', {}).get('level', 'unknown') }}"
        // Home Assistant logs a member that is not there, unless it is read with get, and the empty message of a server
        // that was removed, unless it becomes an object.
        private static let attributes =
            "{% if value_json is defined %}{% set status = value_json.get('status', {}) %}"
            + "{{ {'text': status.get('text', value_json.get('message')), 'since': status.get('changedAt'), "
            + "'phase': value_json.phase, 'stale': value_json.stale} | tojson }}{% else %}{}{% endif %}"

        let name: String
        let identifier: String
        let topic: String

        func write(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("p", "sensor")
                writer.member("name", name)
                writer.member("unique_id", identifier)
                writer.member("device_class", "enum")
                writer.member("options", ["ok", "warning", "critical", "unknown"])
                writer.member("state_topic", topic)
                writer.member("value_template", Self.level)
                writer.member("json_attributes_topic", topic)
                writer.member("json_attributes_template", Self.attributes)
            }
        }
    }

    private struct Removed: JSONWritable {
        func write(to writer: inout JSONWriter) { writer.object { $0.member("p", "sensor") } }
    }
}
