// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

/// The journal's files of this host.
///
/// They are listed here because sd_journal_open(3) silently leaves out those that cannot be read, so that it would
/// find no message in them.
enum JournalFiles {
    /// The directories that may have files: those that survive a restart of the host, and others.
    static var directories: [String] {
        guard let machine = SystemFile.text(at: "/etc/machine-id")?.prefix(32), machine.count == 32 else { return [] }
        return ["/var/log/journal/\(machine)", "/run/log/journal/\(machine)"]
    }

    /// Where journald receives messages.
    private static let socket = "/run/systemd/journal/socket"

    /// Checks that somebody writes to the files.
    static func checkWriter() throws(CheckFailure) {
        guard let isWritten = try? UnixSocket.hasReceiver(at: socket), isWritten else {
            throw CheckFailure("systemd-journald does not run, so no message is written to the journal")
        }
    }

    /// The files that may have messages since a time.
    ///
    /// - Throws: ``CheckFailure`` if a file of the journal cannot be read, or if there is none.
    static func since(_ time: Timestamp) throws(CheckFailure) -> [String] {
        var (count, recent) = (0, [String]())
        for directory in directories {
            guard let names = try names(in: directory) else { continue }
            for name in names {
                let path = "\(directory)/\(name)"
                var status = stat()
                guard access(path, R_OK) == 0, stat(path, &status) == 0 else {
                    // The journal removes old files at any time.
                    if errno == ENOENT { continue }
                    throw failure(errno)
                }
                count += 1
                // After its name has an @, a file is not written any more.
                let changedAt = Int64(status.st_mtim.tv_sec) * 1000
                if !name.utf8.contains(UInt8(ascii: "@")) || changedAt + slack >= time.milliseconds {
                    recent.append(path)
                }
            }
        }
        if count == 0 {
            throw CheckFailure("this host has no journal in /var/log/journal or /run/log/journal")
        }
        return recent
    }

    /// How much the clock of a file may differ, in milliseconds.
    private static let slack: Int64 = 60_000

    /// The names of the journal's files in a directory; nil if it does not exist.
    private static func names(in directory: String) throws(CheckFailure) -> [String]? {
        guard let stream = opendir(directory) else {
            if errno == ENOENT { return nil }
            throw failure(errno)
        }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            // journald renames a file that was not closed, and begins a new one.
            if name.hasSuffix(".journal") || name.hasSuffix(".journal~") { names.append(name) }
            errno = 0
        }
        if errno != 0 { throw failure(errno) }
        return names
    }

    static func failure(_ number: Int32) -> CheckFailure {
        let advice =
            switch number {
            case EACCES: "; \(JournalSettings.remedy(for: SystemErrorText.userName))"
            case EBADMSG, ENODATA: "; run “journalctl --verify”"
            default: ""
            }
        return CheckFailure("cannot read the journal: \(SystemErrorText.text(of: number))\(advice)")
    }
}
