// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds

/// The processes that have a name.
struct ProcessFinding: Equatable {
    var count = 0
    /// Their resident memory in bytes; shared memory counts for each of them.
    var memory = 0.0

    /// Counts the processes of this host.
    ///
    /// - Parameter folder: the kernel's folder of processes, or one like it.
    /// - Throws: ``CheckFailure`` if this process does not see all of them.
    static func find(_ settings: ProcessSettings, in folder: String = "/proc") throws(CheckFailure) -> ProcessFinding {
        let user = try settings.user.map { name throws(CheckFailure) in try number(ofUser: name) }
        // The first process always exists, and belongs to root.
        if let failure = failure(ofReading: "\(folder)/1/stat") {
            throw CheckFailure("cannot see the processes of other users in \(folder): \(failure); see “hidepid”")
        }
        guard let entries = opendir(folder) else {
            throw CheckFailure("cannot list processes: \(String(cString: strerror(errno)))")
        }
        defer { closedir(entries) }
        let name = Array(settings.name.utf8.prefix(ProcessSettings.maximumName))
        let isCut = name.count < settings.name.utf8.count
        var finding = ProcessFinding()
        while let process = try nextProcess(of: entries) {
            // It may have ended in the meantime.
            guard let found = try text(at: "\(folder)/\(process)/comm"), found.utf8.dropLast().elementsEqual(name),
                let status = try text(at: "\(folder)/\(process)/status")
            else { continue }
            var next = finding
            next.take(status, user: user)
            // Its arguments are read last, as any user chooses those of his processes.
            if next == finding { continue }
            if isCut, try !runs(settings.name, "\(folder)/\(process)/cmdline") { continue }
            finding = next
        }
        return finding
    }

    /// Counts a process, unless it is dead or belongs to another user.
    ///
    /// - Parameter status: `Name:\tsshd`, `State:\tS (sleeping)`, `Uid:\t0\t0\t0\t0` and so on (proc(5)).
    mutating func take(_ status: String, user: UInt32?) {
        var values: [Substring: [Substring]] = [:]
        for line in status.split(separator: "\n") {
            let fields = line.split { $0 == "\t" || $0 == " " }
            // A name cannot contain a line break here, so it cannot make up a line.
            if let name = fields.first, ["State:", "Uid:", "VmRSS:", "Threads:"].contains(name) {
                values[name] = Array(fields.dropFirst())
            }
        }
        guard let state = values["State:"]?.first, state != "X" else { return }
        // The state is that of the first thread; others may go on after its end.
        if state == "Z", values["Threads:"]?.first.flatMap({ Int($0) }) ?? 1 < 2 { return }
        // The real and the effective user: anybody may start a setuid program, by a link of any name.
        if let user, values["Uid:"]?.prefix(2).allSatisfy({ UInt32($0) == user }) != true { return }
        count += 1
        // The kernel's own threads have no memory.
        memory += (values["VmRSS:"]?.first.flatMap { Double($0) } ?? 0) * 1024
    }

    /// Whether the program of a process, or the script that it runs, has this file name.
    ///
    /// - Parameter path: the process's arguments, each of which ends in a zero byte.
    private static func runs(_ name: String, _ path: String) throws(CheckFailure) -> Bool {
        // Some programs, and the kernel, have none.
        guard let arguments = try text(at: path) else { return true }
        return arguments.utf8.split(separator: 0).prefix(2).contains { argument in
            argument.split(separator: UInt8(ascii: "/")).last?.elementsEqual(name.utf8) == true
        }
    }

    private static func number(ofUser name: String) throws(CheckFailure) -> UInt32 {
        let number: UInt32?
        do throws(IOError) { number = try UserDatabase.user(name) } catch { throw CheckFailure(error.message) }
        guard let number else { throw CheckFailure("unknown user “\(name)”") }
        return number
    }

    /// How much of a process's file is read; its arguments may be as long as it likes.
    private static let maximumBytes = 64 << 10

    private static func failure(ofReading path: String) -> String? {
        SystemFile.text(at: path) == nil ? String(cString: strerror(errno)) : nil
    }

    /// Returns the text of a process's file; nil if the process has ended.
    private static func text(at path: String) throws(CheckFailure) -> String? {
        if let text = SystemFile.text(at: path, limit: maximumBytes) { return text.isEmpty ? nil : text }
        if errno == ENOENT || errno == ESRCH { return nil }
        throw CheckFailure("cannot read \(path): \(String(cString: strerror(errno)))")
    }

    /// Returns the next entry that is a process.
    private static func nextProcess(of entries: OpaquePointer) throws(CheckFailure) -> Substring? {
        while true {
            errno = 0
            guard let entry = readdir(entries) else {
                if errno == 0 { return nil }
                throw CheckFailure("cannot list processes: \(String(cString: strerror(errno)))")
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) { return name[...] }
        }
    }
}
