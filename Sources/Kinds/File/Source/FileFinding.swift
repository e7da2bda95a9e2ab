// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

/// The result of looking up a path.
enum FileFinding: Sendable, Equatable {
    case found(FoundFile)
    /// There is no such file; a dangling link of the path leads to this place, if any.
    case missing(target: String? = nil)
    /// The path, or part of it, cannot be looked at, for this reason.
    case unknown(path: String, String)

    /// Finds the file at a path, or the newest file that matches a pattern; may block on a disk.
    ///
    /// - Parameter hidden: the folders in which this process does not see what the host has.
    static func find(_ settings: FileSettings, hidden: HiddenFolders = .current) -> FileFinding {
        var search = PatternSearch(hidden: hidden)
        guard settings.hasPattern else { return search.find(settings.path) }
        search.look(in: [], for: settings.path.split(separator: "/").map(String.init)[...])
        // If a part of the pattern cannot be looked at, a newer file may be there. Only a file that must not exist
        // counts nevertheless.
        if let failure = search.failure, settings.exists || search.newest == nil { return failure }
        return search.newest.map { .found($0) } ?? .missing()
    }
}

/// Looks for the files that match a pattern, as glob(7) does.
///
/// glob(3) takes a file that cannot be looked at for one that does not match.
private struct PatternSearch {
    let hidden: HiddenFolders
    private(set) var newest: FoundFile?
    /// The first part of the pattern that cannot be looked at.
    private(set) var failure: FileFinding?

    init(hidden: HiddenFolders) { self.hidden = hidden }

    func find(_ path: UnsafePointer<CChar>) -> FileFinding {
        var status = stat()
        guard stat(path, &status) == 0 else { return failure(path) }
        return .found(
            FoundFile(
                path: String(cString: path), changedAt: Timestamp(status.st_mtim), size: Int(status.st_size),
                isRegular: status.st_mode & S_IFMT == S_IFREG))
    }

    /// The finding after a system call failed.
    private func failure(_ path: UnsafePointer<CChar>) -> FileFinding {
        let (number, path) = (errno, String(cString: path))
        if let reason = hidden.reason(for: path) { return .unknown(path: path, reason) }
        guard number == ENOENT || number == ENOTDIR else {
            return .unknown(path: path, SystemErrorText.text(of: number))
        }
        return .missing(target: Self.hasDanglingLink(path) ? SystemFile.target(of: path) : nil)
    }

    /// Whether a part of a path that leads to nothing is a link to nothing.
    private static func hasDanglingLink(_ path: String) -> Bool {
        var (part, status) = ("", stat())
        let missing = path.split(separator: "/").first { name in
            part += "/\(name)"
            return stat(part, &status) != 0
        }
        return missing != nil && lstat(part, &status) == 0
    }

    /// Looks for what matches the components below a folder, whose path is bytes without the last “/”.
    mutating func look(in folder: [CChar], for components: ArraySlice<String>) {
        guard let component = components.first else { return take(find(folder + [0])) }
        let prefix = folder + [CChar(UInt8(ascii: "/"))]
        guard component.contains(where: { "*?[\\".contains($0) }) else {
            return look(in: prefix + component.utf8.map(CChar.init(bitPattern:)), for: components.dropFirst())
        }
        let path = (folder.isEmpty ? prefix : folder) + [0]
        guard let entries = opendir(path) else { return take(failure(path)) }
        defer { closedir(entries) }
        let folder = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        if let reason = hidden.reason(for: folder) { take(.unknown(path: folder, reason)) }
        while let name = nextName(of: entries, path) {
            if fnmatch(component, name + [0], FNM_PERIOD) == 0 {
                look(in: prefix + name, for: components.dropFirst())
            }
        }
    }

    private mutating func nextName(of entries: OpaquePointer, _ path: [CChar]) -> [CChar]? {
        errno = 0
        guard let entry = readdir(entries) else {
            if errno != 0 { take(failure(path)) }
            return nil
        }
        return withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 }.map(CChar.init(bitPattern:)) }
    }

    private mutating func take(_ finding: FileFinding) {
        switch finding {
        case .found(let file) where file.isRegular:
            if newest.map({ $0.changedAt < file.changedAt }) ?? true { newest = file }
        // Not a file, or one that has been removed in the meantime.
        case .found, .missing: break
        case .unknown: failure = failure ?? finding
        }
    }
}

struct FoundFile: Sendable, Equatable {
    var path: String
    /// The time when the content last changed.
    var changedAt: Timestamp
    /// The size in bytes.
    var size: Int
    /// Whether this is a regular file or a link to one; false for a directory, for example.
    var isRegular = true

    /// The last component of the path.
    var name: Substring { path.split(separator: "/").last ?? "/" }
}

extension Timestamp {
    /// Creates the nearest time that can be expressed, because a file may have any time.
    init(_ time: timespec) {
        let seconds = min(
            max(Int64(time.tv_sec), Self.expressible.lowerBound / 1000), Self.expressible.upperBound / 1000)
        self.init(milliseconds: seconds * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
