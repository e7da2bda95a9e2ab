// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel
import StatusMonitor
public import Varlink

extension FileSettings: HostLooking {
    public var nameOfSubject: String { path }

    public func look() throws(CheckFailure) -> CheckResult {
        try judge(FileFinding.look(at: self), at: Moment.now().wall)
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(path: "")
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "path": path = try String(from: &reader)
            case "age": age = .microseconds(try Int(from: &reader))
            case "size": size = try Int(from: &reader)
            case "exists": exists = try Bool(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("path", path)
            writer.member(
                "age",
                age.map { $0.components.seconds * 1_000_000 + $0.components.attoseconds / 1_000_000_000_000 }.map {
                    Int($0)
                })
            writer.member("size", size)
            writer.member("exists", exists)
        }
    }
}

extension FileSettings {
    /// The result for what was found.
    ///
    /// The text does not change while the file is unchanged, so it does not contain the age.
    func judge(_ finding: FileFinding, at now: Timestamp) throws(CheckFailure) -> CheckResult {
        switch finding {
        case .unknown(let reason): throw CheckFailure("cannot access \(path): \(reason)")
        case .missing:
            CheckResult(exists ? .critical : .ok, hasPattern ? "no file matches \(path)" : "no such file: \(path)")
        case .found(let file):
            exists ? judge(file, at: now) : CheckResult(.critical, "\(file.name) exists")
        }
    }

    private func judge(_ file: FoundFile, at now: Timestamp) -> CheckResult {
        // The time and size of anything else, such as a directory, say nothing about its content.
        if age != nil || size != nil, !file.isRegular {
            return CheckResult(.critical, "\(file.name) is not a regular file")
        }
        var flaws: [String] = []
        if let age, let flaw = flaw(of: .milliseconds(now.milliseconds - file.changedAt.milliseconds), limit: age) {
            flaws.append("\(flaw): changed \(file.changedAt.text(isPrecise: age < .seconds(300)))")
        }
        if let size, file.size < size {
            flaws.append("\(ByteCount.text(file.size)), less than \(ByteCount.text(size))")
        }
        if !flaws.isEmpty { return CheckResult(.critical, "\(file.name) is \(flaws.joined(separator: ", and "))") }
        let merits = [
            age.map { "changed in the last \(TimeSpan.text($0))" }, size.map { _ in ByteCount.text(file.size) },
        ].compactMap(\.self)
        return CheckResult(.ok, "\(file.name): \(merits.isEmpty ? "exists" : merits.joined(separator: ", "))")
    }
}

extension Timestamp {
    /// The minute, such as `2026-11-22 03:12 UTC`, or the second if it must be precise.
    fileprivate func text(isPrecise: Bool) -> String {
        "\(description.prefix(isPrecise ? 19 : 16).split(separator: "T").joined(separator: " ")) UTC"
    }
}

/// The problem with a file of this age; nil if none.
///
/// A time in the future may come from another clock.
private func flaw(of age: Duration, limit: Duration) -> String? {
    if age > limit { return "older than \(TimeSpan.text(limit))" }
    return age < .seconds(-60) ? "from the future" : nil
}
