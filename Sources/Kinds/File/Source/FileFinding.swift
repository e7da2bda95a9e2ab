// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

/// The result of looking up a path.
enum FileFinding: Sendable, Equatable {
    case found(FoundFile)
    case missing
    /// The path, or part of it, cannot be looked at, for this reason.
    case unknown(path: String, String)

    /// Finds the file at a path, or the newest file that matches a pattern; may block on a disk.
    static func find(_ settings: FileSettings) -> FileFinding {
        let finding = settings.hasPattern ? newest(of: settings) : find(settings.path)
        return finding == .missing ? hidden(settings.path) ?? finding : finding
    }

    /// The finding for a path that leads into a folder that the sandbox hides; nil if it does not.
    fileprivate static func hidden(_ path: UnsafePointer<CChar>) -> FileFinding? {
        let path = String(cString: path)
        return HiddenFolders.own.reason(for: path).map { .unknown(path: path, $0) }
    }

    fileprivate static func find(_ path: UnsafePointer<CChar>) -> FileFinding {
        var status = stat()
        guard stat(path, &status) == 0 else { return failure(path) }
        return .found(
            FoundFile(
                path: String(cString: path), changedAt: Timestamp(status.st_mtim), size: Int(status.st_size),
                isRegular: status.st_mode & S_IFMT == S_IFREG))
    }

    /// The finding after a system call failed.
    fileprivate static func failure(_ path: UnsafePointer<CChar>) -> FileFinding {
        if errno == ENOENT || errno == ENOTDIR { return .missing }
        return .unknown(path: String(cString: path), SystemErrorText.text(of: errno))
    }

    /// Returns the newest matching regular file.
    ///
    /// If a part of the pattern cannot be looked at, a newer file may be there. Only a file that must not exist counts
    /// nevertheless.
    private static func newest(of settings: FileSettings) -> FileFinding {
        var search = PatternSearch()
        search.look(in: [], for: settings.path.split(separator: "/").map(String.init)[...])
        if let failure = search.failure, settings.exists || search.newest == nil { return failure }
        return search.newest.map { .found($0) } ?? .missing
    }
}

/// Looks for the files that match a pattern, as glob(7) does.
///
/// glob(3) takes a file that cannot be looked at for one that does not match.
private struct PatternSearch {
    private(set) var newest: FoundFile?
    /// The first part of the pattern that cannot be looked at.
    private(set) var failure: FileFinding?

    /// Looks for what matches the components below a folder, whose path is bytes without the last “/”.
    mutating func look(in folder: [CChar], for components: ArraySlice<String>) {
        guard let component = components.first else {
            let finding = FileFinding.find(folder + [0])
            return take(finding == .missing ? FileFinding.hidden(folder + [0]) ?? finding : finding)
        }
        let prefix = folder + [CChar(UInt8(ascii: "/"))]
        guard component.contains(where: { "*?[\\".contains($0) }) else {
            return look(in: prefix + component.utf8.map(CChar.init(bitPattern:)), for: components.dropFirst())
        }
        let path = (folder.isEmpty ? prefix : folder) + [0]
        if let hidden = FileFinding.hidden(path) { take(hidden) }
        guard let entries = opendir(path) else { return take(FileFinding.failure(path)) }
        defer { closedir(entries) }
        while let name = nextName(of: entries, path) {
            if fnmatch(component, name + [0], FNM_PERIOD) == 0 {
                look(in: prefix + name, for: components.dropFirst())
            }
        }
    }

    private mutating func nextName(of entries: OpaquePointer, _ path: [CChar]) -> [CChar]? {
        errno = 0
        guard let entry = readdir(entries) else {
            if errno != 0 { take(FileFinding.failure(path)) }
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

/// The folders that the sandbox of the service shows otherwise than they are (systemd.exec(5)).
struct HiddenFolders {
    /// All mount points, with the setting that made them if they are hidden.
    private var mounts: [(folder: String, setting: String?)] = []

    /// Those of this process.
    static let own = HiddenFolders(mounts: SystemFile.text(at: "/proc/self/mountinfo") ?? "")

    /// - Parameter mounts: the text of /proc/self/mountinfo (proc(5)).
    init(mounts: String) {
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 5, let end = fields.firstIndex(of: "-"), fields.count > end + 3 else { continue }
            let (folder, type, options) = (String(fields[4]), fields[end + 1], fields[end + 3].split(separator: ","))
            var setting: String?
            if fields[3].split(separator: "/").contains(where: { $0.hasPrefix("systemd-private-") }) {
                setting = "PrivateTmp="
            } else if folder == "/dev", type == "tmpfs", fields[5].split(separator: ",").contains("noexec") {
                setting = "PrivateDevices="
            } else if folder == "/proc", options.contains("subset=pid") || options.contains("hidepid=invisible") {
                setting = "ProtectProc= or ProcSubset="
            }
            self.mounts.append((folder, setting))
        }
    }

    /// Why a file that seems to be missing may exist; nil if its path leads nowhere that is hidden.
    func reason(for path: String) -> String? {
        guard mounts.contains(where: { $0.setting != nil }) else { return nil }
        let place = Self.resolved(path)
        let own = mounts.filter { place == $0.folder || $0.folder == "/" || place.hasPrefix($0.folder + "/") }
        // Of several mounts at one place, the last one is seen.
        guard let length = own.map(\.folder.utf8.count).max(),
            let mount = own.last(where: { $0.folder.utf8.count == length }), let setting = mount.setting
        else { return nil }
        return "\(setting) of the service hides \(mount.folder)"
    }

    /// A path without links, as far as it exists.
    private static func resolved(_ path: String, links: Int = 0) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        guard links < 40, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return path }
        let parent = resolved(String(path[..<slash]), links: links)
        let whole = parent + path[slash...]
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(whole, &target, target.count)
        guard count > 0 else { return whole }
        let link = String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return resolved(link.hasPrefix("/") ? link : "\(parent)/\(link)", links: links + 1)
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
