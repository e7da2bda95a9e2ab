// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
public import YAML

/// `journal: { unit: nginx.service, match: { PRIORITY: 3 }, within: 10min }`: the messages of the last minutes.
public struct JournalSettings: SourceSettings {
    public static let key = "journal"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["unit", "match", "within", "warning", "critical"]

    /// The maximum number of messages that are counted.
    public static let maximumCount = 10_000
    /// The maximum length of all matches together, which must fit into the message to the worker.
    private static let maximumBytes = 16 * 1024

    /// The full name of the unit that the messages are from or about; nil for all messages.
    public var unit: String?
    /// What a message has: `FIELD=VALUE`; those of one field are alternatives.
    public var matches = Self.priorities(upTo: 3)
    public var within = Duration.seconds(600)
    /// The number of messages from which on the level is warning, or critical; nil for never.
    public var warning: Int?
    public var critical: Int? = 1

    public init(unit: String? = nil) { self.unit = unit }

    public var subjectParts: [String] {
        [
            unit ?? "", "\(within.components.seconds)", warning.map(String.init) ?? "",
            critical.map(String.init) ?? "",
        ] + matches
    }
    public var requirements: [SourceRequirement] { [.journal] + (unit.map { [.unit($0)] } ?? []) }

    /// What allows a user to read the journal.
    public static func remedy(for user: String) -> String {
        "run “usermod -aG systemd-journal \(user)”, and restart the daemon"
    }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> JournalSettings? {
        if node.mapping == nil { return JournalSettings(unit: try unit(node, of: key, reader.nodes)) }
        var settings = JournalSettings()
        settings.critical = nil
        try reader.readMapping(
            node, of: key, keys: keys
        ) { key, value, reader throws(Problem) in
            if key == "match" { warn(of: value, &reader) }
            try settings.read(key, value, reader.nodes)
        }
        if settings.warning == nil, settings.critical == nil { settings.critical = 1 }
        if let warning = settings.warning, let critical = settings.critical, warning >= critical {
            throw reader.nodes.problem(at: node, "“warning” in “journal” must be less than “critical”")
        }
        return settings
    }

    private mutating func read(_ key: String, _ value: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        switch key {
        case "unit": unit = try Self.unit(value, of: key, nodes)
        case "match": matches = try Self.matches(value, nodes)
        case "within": within = try nodes.duration(value, of: key, in: .seconds(1)...Duration.seconds(7 * 86_400))
        case "warning": warning = try nodes.count(value, of: key, in: 1...Self.maximumCount)
        case "critical": critical = try nodes.count(value, of: key, in: 1...Self.maximumCount)
        default: break
        }
    }

    private static func unit(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) -> String {
        let text = try nodes.string(node, of: key, "a unit's name, such as nginx.service")
        guard !node.isTrueOrFalse, let unit = UnitName.normalize(text) else {
            throw nodes.problem(at: node, "invalid unit name “\(nodes.key(node))”: must be one such as nginx.service")
        }
        return unit
    }

    // MARK: Matches

    /// Warns of matches that no message has.
    private static func warn(of match: YAMLNode, _ reader: inout SettingsReader) {
        for (key, value) in match.mapping ?? [] {
            if let field = key.string, field.hasPrefix("_"), !trustedFields.contains(field) {
                let advice = Nearest.suggestion(for: field, among: trustedFields.sorted())
                reader.warn(at: key, "journald sets no field “\(reader.nodes.key(key))”\(advice)")
            }
            for value in value.sequence ?? [value] where value.string?.contains("*") == true {
                reader.warn(
                    at: value, "“\(reader.nodes.key(value))” is compared with whole values; there are no patterns")
            }
        }
    }

    /// The fields that journald itself adds to messages (systemd.journal-fields(7)).
    private static let trustedFields: Set = [
        "_AUDIT_LOGINUID", "_AUDIT_SESSION", "_BOOT_ID", "_CAP_EFFECTIVE", "_CMDLINE", "_COMM", "_EXE", "_GID",
        "_HOSTNAME", "_KERNEL_DEVICE", "_KERNEL_SUBSYSTEM", "_LINE_BREAK", "_MACHINE_ID", "_NAMESPACE", "_PID",
        "_RUNTIME_SCOPE", "_SELINUX_CONTEXT", "_SOURCE_BOOTTIME_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP",
        "_SOURCE_REALTIME_TIMESTAMP", "_STREAM_ID", "_SYSTEMD_CGROUP", "_SYSTEMD_INVOCATION_ID",
        "_SYSTEMD_OWNER_UID", "_SYSTEMD_SESSION", "_SYSTEMD_SLICE", "_SYSTEMD_UNIT", "_SYSTEMD_USER_SLICE",
        "_SYSTEMD_USER_UNIT", "_TRANSPORT", "_UDEV_DEVLINK", "_UDEV_DEVNODE", "_UDEV_SYSNAME", "_UID",
    ]

    private static func matches(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> [String] {
        guard let mapping = node.mapping, !mapping.isEmpty else {
            throw nodes.problem(
                at: node, "“match” must be a mapping of journal fields to values, such as { PRIORITY: 3 }")
        }
        var matches: [String] = []
        for (key, value) in mapping {
            guard let field = key.string, isField(field) else {
                throw nodes.problem(
                    at: key, "invalid journal field “\(nodes.key(key))”: must be in capitals, such as SYSLOG_IDENTIFIER"
                )
            }
            matches += try Self.matches(of: field, value, nodes)
        }
        guard matches.reduce(0, { $0 + $1.utf8.count }) <= maximumBytes else {
            throw nodes.problem(at: node, "“match” is longer than \(maximumBytes / 1024) KiB; use fewer values")
        }
        return matches
    }

    private static func matches(
        of field: String, _ node: YAMLNode, _ nodes: NodeReader
    ) throws(Problem) -> [String] {
        let what = "a text, or a list of texts"
        let values =
            node.sequence == nil
            ? [try nodes.string(node, of: field, what)] : try nodes.strings(node, of: field, what)
        if values.isEmpty { throw nodes.problem(at: node, "“\(field)” must be \(what)") }
        guard field == "PRIORITY" else { return values.map { "\(field)=\($0)" } }
        let levels = values.compactMap(priority)
        guard levels.count == values.count else {
            throw nodes.problem(at: node, "“PRIORITY” must be from 0 to 7, or a name from emerg to debug")
        }
        return node.sequence == nil ? priorities(upTo: levels[0]) : levels.map { "PRIORITY=\($0)" }
    }

    /// The rule for the names of journal fields (systemd.journal-fields(7)).
    private static func isField(_ name: String) -> Bool {
        let isNumber = name.utf8.first.map { (0x30...0x39).contains($0) } ?? true
        return !isNumber && name.utf8.count <= 64
            && name.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    /// A single priority also means the more severe ones, as for journalctl(1).
    private static func priorities(upTo priority: Int) -> [String] { (0...priority).map { "PRIORITY=\($0)" } }

    private static let names = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]

    private static func priority(_ text: String) -> Int? {
        names.firstIndex(of: text) ?? names.indices.first { String($0) == text }
    }
}
