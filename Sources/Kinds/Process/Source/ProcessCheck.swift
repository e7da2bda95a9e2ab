// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel
public import Varlink

extension ProcessSettings: HostCheckMaking {
    nonisolated public var suspect: String { "the host" }

    /// The daemon's sandbox hides the processes of other users, and that of plugins does not.
    public func makeCheck(_ order: SourceOrder) -> any Check { ExecutedHostCheck(self, order) }

    nonisolated public func check() throws(CheckFailure) -> CheckResult { judge(try ProcessFinding.find(self)) }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(name: "")
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "name": self.name = try String(from: &reader)
            case "user": user = try String(from: &reader)
            case "least": least = try Int(from: &reader)
            case "most": most = try Int(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("user", user)
        writer.member("least", least)
        writer.member("most", most)
    }
}

extension ProcessSettings {
    func judge(_ finding: ProcessFinding) -> CheckResult {
        let memory = MeasuredValue("memory", finding.memory, "B")
        let values = [MeasuredValue("processes", Double(finding.count)), memory]
        let text = "\(finding.count) process\(finding.count == 1 ? "" : "es")"
        guard finding.count >= least, finding.count <= most ?? .max else {
            return CheckResult(.critical, "\(text), expected \(expectation)", values: values)
        }
        return CheckResult(.ok, finding.count == 0 ? text : "\(text), \(memory.text)", values: values)
    }

    private var expectation: String {
        switch most {
        case nil: "at least \(least)"
        case least: "\(least)"
        case let most?: "\(least) to \(most)"
        }
    }
}
