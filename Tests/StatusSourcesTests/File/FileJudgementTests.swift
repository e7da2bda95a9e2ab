// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("The result for the file at a path") struct FileJudgementTests {
    /// 2026-11-22T03:12:04Z.
    private static let changed = Timestamp(milliseconds: 1_795_317_124_000)
    private let file = FoundFile(path: "/backup/db.dump", changedAt: changed, size: 1536)

    private func judge(
        _ finding: FileFinding, exists: Bool = true, age: Duration? = nil, size: Int? = nil, after seconds: Int64 = 60
    ) throws -> CheckResult {
        var settings = FileSettings(path: "/backup/db.dump")
        (settings.exists, settings.age, settings.size) = (exists, age, size)
        return try settings.judge(finding, at: Timestamp(milliseconds: Self.changed.milliseconds + seconds * 1000))
    }

    @Test("a file must exist, or must not")
    func existence() throws {
        #expect(try judge(.found(file)) == CheckResult(.ok, "db.dump: exists"))
        #expect(try judge(.missing()) == CheckResult(.critical, "no such file: /backup/db.dump"))
        #expect(try judge(.missing(), exists: false) == CheckResult(.ok, "no such file: /backup/db.dump"))
        #expect(try judge(.found(file), exists: false) == CheckResult(.critical, "db.dump exists"))
    }

    @Test("a file must be new enough; the text stays the same until the file changes")
    func age() throws {
        let new = CheckResult(.ok, "db.dump: changed in the last 1d 2h")
        #expect(try judge(.found(file), age: .seconds(93_600), after: 93_600) == new)
        #expect(try judge(.found(file), age: .seconds(93_600), after: -60) == new)
        #expect(
            try judge(.found(file), age: .seconds(93_600), after: -61)
                == CheckResult(.critical, "db.dump is from the future: changed 2026-11-22 03:12 UTC"))
        let old = CheckResult(.critical, "db.dump is older than 1d 2h: changed 2026-11-22 03:12 UTC")
        #expect(try judge(.found(file), age: .seconds(93_600), after: 93_601) == old)
        #expect(try judge(.found(file), age: .seconds(93_600), after: 1_000_000) == old)
    }

    @Test("a file must be large enough")
    func size() throws {
        #expect(try judge(.found(file), size: 1536) == CheckResult(.ok, "db.dump: 1.5 KiB"))
        #expect(try judge(.found(file), size: 1537).level == .critical)
        #expect(
            try judge(.found(file), size: 1 << 20) == CheckResult(.critical, "db.dump is 1.5 KiB, less than 1 MiB"))
    }

    @Test("anything but a regular file may exist, but has no age and no size")
    func irregular() throws {
        var directory = file
        directory.isRegular = false
        #expect(try judge(.found(directory)) == CheckResult(.ok, "db.dump: exists"))
        let flaw = CheckResult(.critical, "db.dump is not a regular file")
        #expect(try judge(.found(directory), age: .seconds(3600)) == flaw)
        #expect(try judge(.found(directory), size: 1) == flaw)
    }

    @Test("all problems are reported")
    func both() throws {
        #expect(
            try judge(.found(file), age: .seconds(60), size: 2048, after: 61).text
                == "db.dump is older than 1min: changed 2026-11-22 03:12:04 UTC, and 1.5 KiB, less than 2 KiB")
    }

    @Test("if a path cannot be accessed, the check fails")
    func unknown() {
        #expect(throws: CheckFailure("cannot access /backup/db.dump: Permission denied")) {
            try judge(.unknown(path: "/backup/db.dump", "Permission denied"))
        }
    }

    @Test(
        "sizes have two digits or more",
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (10_188, "9.9 KiB"), (10_240, "10 KiB"),
            (1 << 20, "1 MiB"), ((1 << 20) - 1, "1023 KiB"), (5 << 40, "5 TiB"), (5 << 50, "5120 TiB"),
        ])
    func sizes(_ bytes: Int, _ text: String) {
        #expect(ByteCount.text(bytes) == text)
    }
}
