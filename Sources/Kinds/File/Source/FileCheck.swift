// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds
import StatusModel
import StatusMonitor
public import Varlink

/// Checks a file in each interval, and when the file or a directory of its path changes.
struct FileCheck: Check {
    private let check: HostCheck
    /// The watch; nil if a directory of the path is a pattern.
    private let watch: FileWatch?
    private let watcher: FileWatcher

    var resource: CheckBudget.Resource { check.resource }
    var changes: AsyncStream<Void>? { watch?.changes }

    @EventLoop init(_ settings: FileSettings, _ order: SourceOrder) {
        check = HostCheck(settings, order)
        watcher = order.environment.shared(FileWatcher.self)
        watch =
            settings.hasPatternInDirectory
            ? nil : FileWatch(path: settings.path, isPattern: settings.hasPattern)
    }

    func run() async throws -> CheckResult {
        try await check.run {
            // The watcher would wait for a dead disk, and so would the end of the daemon.
            if let watch { await watcher.begin(watch) }
        }
    }
}

extension FileSettings: HostCheckMaking {
    nonisolated public var suspect: String { "the disk of \(path)" }

    public func makeCheck(_ order: SourceOrder) -> any Check { FileCheck(self, order) }

    nonisolated public func check() throws(CheckFailure) -> CheckResult {
        try judge(FileFinding.find(self), at: Moment.now().wall)
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(path: "")
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "path": path = try String(from: &reader)
            case "age": age = .milliseconds(try Int(from: &reader))
            case "size": size = try Int(from: &reader)
            case "exists": exists = try Bool(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("path", path)
        writer.member("age", age.map { Int($0 / .milliseconds(1)) })
        writer.member("size", size)
        writer.member("exists", exists)
    }
}

extension FileSettings {
    /// Returns the result for a finding.
    ///
    /// The text stays the same while the file is unchanged, so it does not contain the age.
    func judge(_ finding: FileFinding, at now: Timestamp) throws(CheckFailure) -> CheckResult {
        switch finding {
        case .unknown(let path, let reason): throw CheckFailure("cannot access \(path): \(reason)")
        case .missing where hasPattern: CheckResult(exists ? .critical : .ok, "no file matches \(path)")
        case .missing(let target):
            CheckResult(
                exists ? .critical : .ok,
                "no such file: \(path)" + (target.map { "; its link leads to \($0), which does not exist" } ?? ""))
        case .found(let file): exists ? judge(file, at: now) : CheckResult(.critical, "\(file.name) exists")
        }
    }

    private func judge(_ file: FoundFile, at now: Timestamp) -> CheckResult {
        // Only the time and size of a regular file describe its content.
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

/// Returns the problem with a file of this age; nil if there is none.
///
/// A time slightly in the future may come from another clock.
private func flaw(of age: Duration, limit: Duration) -> String? {
    if age > limit { return "older than \(TimeSpan.text(limit))" }
    return age < .seconds(-60) ? "from the future" : nil
}

/// Formats numbers of bytes: `512 B`, `1.5 KiB`, `12 MiB`.
enum ByteCount {
    private static let units = ["KiB", "MiB", "GiB", "TiB"]

    /// Returns a text with at least two digits, so that it changes rarely while a file grows.
    static func text(_ bytes: Int) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var (tenths, unit) = (bytes / 1024 * 10 + bytes % 1024 * 10 / 1024, 0)
        while tenths >= 10_240, unit < units.count - 1 { (tenths, unit) = (tenths / 1024, unit + 1) }
        return tenths < 100 && tenths % 10 != 0
            ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(tenths / 10) \(units[unit])"
    }
}
