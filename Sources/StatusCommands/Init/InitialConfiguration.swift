// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A first configuration, from what a host has.
struct InitialConfiguration {
    struct Entry: Equatable {
        var name: ServerName
        var settings: String
        /// What it follows, for people.
        var subject: String
    }

    private(set) var entries: [Entry] = []
    /// The server for all units that fail; nil if the host has no systemd.
    private(set) var failedUnits: ServerName?
    let omissions: [HostSurvey.Omission]
    private let selects: Bool
    /// Whether it lets posts add servers.
    private let accepts: Bool

    /// - Parameters:
    ///   - selects: whether it selects a server; not if another file does.
    ///   - accepts: whether it lets posts add servers; not if another file forbids it.
    init(_ survey: HostSurvey, selects: Bool = true, accepts: Bool = true) {
        (self.selects, self.accepts) = (selects, accepts)
        omissions = survey.omissions
        for service in survey.services {
            // Without a description, systemd shows the unit's name.
            let isDescribed = ![String(service.name), ""].contains(service.description)
            let description = !isDescribed ? "" : ", description: \(Self.quoted(service.description))"
            add(
                String(service.name.dropLast(".service".count)),
                "unit: \(Self.scalar(service.name))\(description)",
                service.isFailed
                    ? "\(service.name), failed now" : service.hasTimer ? "\(service.name), by its timer" : service.name)
        }
        if survey.hasUnits {
            add("failed-units", "units: failed", "any unit that fails")
            failedUnits = entries.last?.name
        }
        for disk in survey.disks {
            add(
                disk == "/" ? "disk-root" : "disk" + disk.replacingScalar("/", with: "-"),
                disk == "/" ? "disk: /" : "disk: { path: \(Self.scalar(disk)), mounted: true }", disk)
        }
        if survey.hasMemory { add("memory", "memory: true", "memory") }
        for resource in survey.pressures {
            add("pressure-\(resource)", "pressure: \(resource)", "time lost while waiting for \(resource)")
        }
        for service in survey.secureServices {
            let port = service.address.split(separator: ":").last ?? ""
            add(
                "certificate-\(port)",
                "certificate: { host: \(Self.quoted(service.address)), name: \(Self.scalar(service.name)) }",
                "the certificate of \(service.name) at \(service.address)")
        }
    }

    private mutating func add(_ name: String, _ settings: String, _ subject: String) {
        guard let name = unused(name) else { return }
        entries.append(Entry(name: name, settings: settings, subject: VisibleText.escape(subject)))
    }

    /// A valid name that no entry has yet.
    private func unused(_ text: String) -> ServerName? {
        let valid = text.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._:@-".contains($0)) ? $0 : "-" }
        let base = String(valid.drop { !$0.isLetter && !$0.isNumber }.prefix(60))
        let names = [base] + (2..<100).map { "\(base)-\($0)" }
        return names.lazy.compactMap { ServerName($0) }.first { name in !entries.contains { $0.name == name } }
    }

    /// The server that is selected first: the most important one.
    var selected: ServerName? { selects ? entries.first?.name : nil }

    func text(date: String) -> String {
        var lines = [
            "# Written by “statusctl init” on \(date), from what this host has. Change it as you like: statusd.yaml(5)",
            """
            # describes all settings, “statusctl verify” checks the file, and “statusctl reload” makes it take \
            effect.
            """,
        ]
        if let selected { lines.append("select: \(Self.scalar(selected.rawValue))") }
        if accepts {
            lines.append("# Programs may also post statuses of servers that are not listed here.")
            lines.append("accept: any")
        }
        lines.append(entries.isEmpty ? "servers: {}" : "servers:")
        lines += entries.map { "  \(Self.scalar($0.name.rawValue)): { \($0.settings) }" }
        lines += omissions.map { "# Left out \($0.reason): \($0.names.joined(separator: ", "))" }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: YAML

    /// A text as YAML: as it is if it can only be a text, otherwise in quotes.
    private static func scalar(_ text: String) -> String {
        let isPlain =
            text.first.map { $0.isASCII && ($0.isLetter || $0 == "/") } ?? false
            && text.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "-_./@".utf8.contains(byte)
            }
        let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
        return isPlain && !words.contains(text.lowercased()) ? text : quoted(text)
    }

    /// Whether a character may be in the file: YAML has no control characters, nor the last two characters of a plane.
    static func isWritable(_ scalar: Unicode.Scalar) -> Bool {
        !VisibleText.isControl(scalar) && scalar.value & 0xFFFE != 0xFFFE
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.replacingScalar("\\", with: "\\\\").replacingScalar("\"", with: "\\\"")
        return "\""
            + escaped.unicodeScalars.reduce(into: "") { result, scalar in
                if isWritable(scalar) { result.unicodeScalars.append(scalar) }
            } + "\""
    }
}
