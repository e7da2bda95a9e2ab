// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds
import StatusModel
import StatusMonitor
import StatusSupport
public import Varlink

/// Counts messages in each interval, because old ones no longer count, and when the journal is written to.
struct JournalCheck: Check {
    private let check: HostCheck
    private let watch: FileWatch
    private let watcher: FileWatcher

    var resource: CheckBudget.Resource { check.resource }
    var changes: AsyncStream<Void>? { watch.changes }

    @EventLoop init(_ settings: JournalSettings, _ order: SourceOrder) {
        check = HostCheck(settings, order)
        watcher = order.environment.shared(FileWatcher.self)
        // journald writes through memory, and truncates a file to its own size so that readers notice.
        watch = FileWatch(
            JournalFiles.directories.flatMap { directory in
                FileEntry.entries(of: "\(directory)/*.journal", isPattern: true, hasWrites: true)
            })
    }

    func run() async throws -> CheckResult {
        // Begun before the check, so that no message is missed between the two.
        await watcher.begin(watch)
        return try await check.run()
    }
}

extension JournalSettings: HostCheckMaking {
    nonisolated public var suspect: String { "the disk of the journal" }

    public func makeCheck(_ order: SourceOrder) -> any Check { JournalCheck(self, order) }

    nonisolated public func check() throws(CheckFailure) -> CheckResult {
        let now = Moment.now().wall
        let begin = Timestamp(milliseconds: now.milliseconds - Int64(within / .milliseconds(1)))
        let finding = try JournalReader.find(self, since: begin)
        try JournalFiles.checkWriter()
        return judge(finding)
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        critical = nil
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "unit": unit = try String(from: &reader)
            case "matches": matches = try [String](from: &reader)
            case "within": within = .milliseconds(try Int(from: &reader))
            case "warning": warning = try Int(from: &reader)
            case "critical": critical = try Int(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("unit", unit)
        writer.member("matches", matches)
        writer.member("within", Int(within / .milliseconds(1)))
        writer.member("warning", warning)
        writer.member("critical", critical)
    }
}

extension JournalSettings {
    /// The maximum width of a message in a text, in columns.
    private static let columns = 80

    func judge(_ finding: JournalFinding) -> CheckResult {
        let time = Self.spaced(TimeSpan.text(within))
        let value = MeasuredValue(
            "messages", Double(min(finding.count, Self.maximumCount)), warning: warning.map(Double.init),
            critical: critical.map(Double.init))
        guard finding.count > 0 else { return CheckResult(.ok, "no message in \(time)", values: [value]) }
        let count =
            finding.count > Self.maximumCount
            ? "more than \(Self.maximumCount) messages" : finding.count == 1 ? "1 message" : "\(finding.count) messages"
        let isCritical = critical.map { finding.count >= $0 } ?? false
        let isWarning = warning.map { finding.count >= $0 } ?? false
        return CheckResult(
            isCritical ? .critical : isWarning ? .warning : .ok,
            "\(count) in \(time)" + (finding.newest.map { ": “\(Self.line($0))”" } ?? ""), values: [value])
    }

    /// A time with a space before each unit, such as `1 h 30 min`.
    private static func spaced(_ time: String) -> String {
        var (result, last) = ("", Character(" "))
        for character in time {
            if character.isLetter, last.isNumber { result.append(" ") }
            result.append(character)
            last = character
        }
        return result
    }

    /// A message as a part of a line: anybody may write to the journal.
    private static func line(_ message: String) -> String {
        (StatusText(fitting: message)?.rawValue ?? "").cut(to: columns, ellipsis: "…")
    }
}
