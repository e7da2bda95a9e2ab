// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import SourceKinds
import StatusModel

/// The messages that match, and the text of the newest one.
struct JournalFinding: Equatable {
    /// At most one more than ``JournalSettings/maximumCount``.
    var count = 0
    var newest: String?
}

/// Reads messages of the journal with libsystemd.
struct JournalReader: ~Copyable {
    private let journal: OpaquePointer

    /// Opens files; none of them is left out.
    private init(_ files: [String]) throws(CheckFailure) {
        var paths = files.map { UnsafePointer(strdup($0)) } + [nil]
        defer { for path in paths { free(UnsafeMutablePointer(mutating: path)) } }
        var journal: OpaquePointer?
        let result = sd_journal_open_files(&journal, &paths, 0)
        guard result >= 0, let journal else { throw JournalFiles.failure(-result) }
        self.journal = journal
    }

    deinit { sd_journal_close(journal) }

    /// Finds the messages since a time.
    static func find(_ settings: JournalSettings, since time: Timestamp) throws(CheckFailure) -> JournalFinding {
        for _ in 1...2 {
            let files = try JournalFiles.since(time)
            if files.isEmpty { return JournalFinding() }
            let reader = try JournalReader(files)
            try reader.match(settings)
            let size = try reader.size
            let finding = try reader.find(since: UInt64(max(0, time.milliseconds)) * 1000)
            if try reader.size >= size { return finding }
            // The journal may have removed an old file just now.
        }
        throw JournalFiles.failure(EBADMSG)
    }

    /// The size of all files; libsystemd silently leaves out those that it cannot read (any more).
    private var size: UInt64 {
        get throws(CheckFailure) {
            var size: UInt64 = 0
            _ = try check(sd_journal_get_usage(journal, &size))
            return size
        }
    }

    private func check(_ result: Int32) throws(CheckFailure) -> Int32 {
        if result < 0 { throw JournalFiles.failure(-result) }
        return result
    }

    // MARK: Matches

    /// The ID of a message about a core dump (sd-messages.h).
    private static let coredump = "MESSAGE_ID=fc2e22bc6ee647b6b90729ab34a250b1"

    private func match(_ settings: JournalSettings) throws(CheckFailure) {
        if let unit = settings.unit {
            // As `journalctl -u` does: what the unit's processes wrote, and what systemd and root wrote about it.
            let alternatives = [
                ["_SYSTEMD_UNIT=\(unit)"], [Self.coredump, "_UID=0", "COREDUMP_UNIT=\(unit)"],
                ["_PID=1", "UNIT=\(unit)"], ["_UID=0", "OBJECT_SYSTEMD_UNIT=\(unit)"],
            ]
            for alternative in alternatives {
                for match in alternative { try add(match) }
                _ = try check(sd_journal_add_disjunction(journal))
            }
            _ = try check(sd_journal_add_conjunction(journal))
        }
        for match in settings.matches { try add(match) }
    }

    private func add(_ match: String) throws(CheckFailure) {
        let bytes = Array(match.utf8)
        _ = try check(sd_journal_add_match(journal, bytes, bytes.count))
    }

    // MARK: Messages

    /// The maximum number of bytes of a message to read; it is for one line.
    private static let maximumBytes = 4096

    private func find(since time: UInt64) throws(CheckFailure) -> JournalFinding {
        _ = try check(sd_journal_set_data_threshold(journal, Self.maximumBytes))
        _ = try check(sd_journal_seek_tail(journal))
        var finding = JournalFinding()
        while finding.count <= JournalSettings.maximumCount, try check(sd_journal_previous(journal)) > 0 {
            var writtenAt: UInt64 = 0
            _ = try check(sd_journal_get_realtime_usec(journal, &writtenAt))
            if writtenAt < time { break }
            if finding.count == 0 { finding.newest = message }
            finding.count += 1
        }
        return finding
    }

    /// The text of the current message; nil if it has none.
    private var message: String? {
        var (data, length): (UnsafeRawPointer?, Int) = (nil, 0)
        guard sd_journal_get_data(journal, "MESSAGE", &data, &length) >= 0 else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data, count: min(length, Self.maximumBytes))
        return String(decoding: bytes.dropFirst("MESSAGE=".utf8.count), as: UTF8.self)
    }
}
