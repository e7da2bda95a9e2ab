// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds
import StatusModel
import StatusMonitor

/// Checks a file in each interval, and when the file or a directory of its path changes.
///
/// A process that waits for a dead disk cannot be killed. So a worker runs the check, and the daemon can abandon it.
struct FileCheck: Check {
    private let settings: FileSettings
    private let server: ServerName
    private let timeout: Duration
    private let pool: WorkerPool<FileSettings>
    /// The watch; nil if a directory of the path is a pattern.
    private let watch: FileWatch?
    private let watcher: FileWatcher

    var resource: CheckBudget.Resource { .file }
    var changes: AsyncStream<Void>? { watch?.changes }

    @EventLoop init(_ settings: FileSettings, _ order: SourceOrder) {
        self.settings = settings
        (server, timeout) = (order.server, order.schedule.timeout)
        pool = order.environment.shared(WorkerPool<FileSettings>.self)
        watcher = order.environment.shared(FileWatcher.self)
        watch =
            settings.hasPatternInDirectory
            ? nil : FileWatch(path: settings.path, isPattern: settings.hasPattern)
    }

    func run() async throws -> CheckResult {
        do {
            guard let answer = try await pool.run(settings, of: server, within: timeout) else {
                let time = TimeSpan.text(timeout)
                return CheckResult(
                    .critical, "the check of \(settings.path) timed out after \(time); the disk may not answer")
            }
            let result = try answer.result.get()
            if let watch { await watcher.begin(watch) }
            return result
        } catch is WorkerLost {
            throw CheckFailure("the worker ended during the check")
        } catch let error as StuckCheck {
            return CheckResult(.critical, "\(error); the disk of \(settings.path) may not answer")
        }
    }
}

extension FileSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { FileCheck(self, order) }
}

extension FileSettings {
    /// Checks the file; may block indefinitely.
    func check() throws(CheckFailure) -> CheckResult { try judge(FileFinding.find(self), at: Moment.now().wall) }

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
