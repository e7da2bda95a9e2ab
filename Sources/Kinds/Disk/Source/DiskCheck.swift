// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel
public import Varlink

extension DiskSettings: HostCheckMaking {
    nonisolated public var suspect: String { "the disk of \(path)" }

    public func makeCheck(_ order: SourceOrder) -> any Check {
        isInHome ? ExecutedHostCheck(self, order) : HostCheck(self, order)
    }

    nonisolated public func check() throws(CheckFailure) -> CheckResult { try judge(DiskFinding.find(self)) }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(path: "")
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "path": path = try String(from: &reader)
            case "warning": space.warning = try Double(from: &reader)
            case "critical": space.critical = try Double(from: &reader)
            case "inodes": inodes = try Double(from: &reader)
            case "mounted": mounted = try Bool(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("path", path)
        writer.member("warning", space.warning)
        writer.member("critical", space.critical)
        writer.member("inodes", inodes)
        writer.member("mounted", mounted)
    }
}

extension DiskSettings {
    /// Returns the result for a finding.
    func judge(_ finding: DiskFinding) throws(CheckFailure) -> CheckResult {
        switch finding {
        case .found(let system): try judge(system)
        case .notMounted:
            CheckResult(.critical, "nothing is mounted at \(path)" + (mounted == nil ? ", which /etc/fstab has" : ""))
        case .missing: CheckResult(.critical, "no such file or directory: \(path)")
        case .broken(let reason): CheckResult(.critical, "cannot read \(path): \(reason)")
        }
    }

    private func judge(_ system: FileSystem) throws(CheckFailure) -> CheckResult {
        guard system.size > 0 else {
            // Some file systems over a network do not know their size.
            if mounted == true { return CheckResult(.ok, "mounted") }
            throw CheckFailure("the file system of \(path) has no size; choose a path on a disk")
        }
        let size = MeasuredValue("size", system.size, "B")
        if system.isMeantReadOnly { return CheckResult(.ok, "\(size.text), read-only", values: [size]) }
        // df(1) rounds up, and so do its users.
        let percentage = system.usedPercentage.rounded(.up)
        let inodesPercentage = system.usedInodesPercentage.rounded(.up)
        var values = [
            MeasuredValue(
                "used", percentage, "%", warning: space.warning, critical: space.critical),
            size, MeasuredValue("free", system.free, "B"),
        ]
        if system.inodes > 0 {
            values.append(
                MeasuredValue(
                    "inodes", inodesPercentage, "%", warning: inodes, critical: max(inodes, space.critical)))
        }
        var text = "\(Int(percentage))% of \(size.text) used, \(values[2].text) free"
        var level = space.level(of: percentage)
        if system.inodes > 0, inodesPercentage >= inodes {
            text += "; \(Int(inodesPercentage))% of inodes used"
            let inodesLevel: Level = inodesPercentage >= space.critical ? .critical : .warning
            if inodesLevel.isWorse(than: level) { level = inodesLevel }
        }
        if system.isReadOnly { (level, text) = (.critical, "read-only; \(text)") }
        return CheckResult(level, text, values: values)
    }
}
