// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds

public enum ConfigurationLocation: Sendable, Equatable, CustomStringConvertible {
    case file(String)
    /// `statusd.yaml` and `conf.d/*.yaml` in these directories, in order of precedence.
    case directories([String])

    /// Returns the default location.
    ///
    /// For root and for a system service, it is in `/etc`, `/run` and `/usr/lib`; otherwise it is the user's directory.
    /// `CONFIGURATION_DIRECTORY`, which systemd sets, replaces the directory in `/etc`.
    public static func standard(environment: [String: String], isRoot: Bool) -> ConfigurationLocation {
        if let directories = environment["CONFIGURATION_DIRECTORY"], let first = directories.split(separator: ":").first
        {
            return .directories([String(first), "/run/statusd.d", "/usr/lib/statusd"])
        }
        if isRoot { return .directories(["/etc/statusd", "/run/statusd.d", "/usr/lib/statusd"]) }
        let home = environment["HOME"].map { $0 + "/.config" }
        return .directories((environment["XDG_CONFIG_HOME"] ?? home).map { [$0 + "/statusd"] } ?? [])
    }

    /// Creates the location for a path from the command line: a file or a directory.
    ///
    /// A directory's `conf.d` stands for the directory.
    public init(path: String) {
        var status = stat()
        let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        let isDropIns = isDirectory && path.split(separator: "/").last == "conf.d"
        self =
            isDropIns ? .directories([Self.parent(of: path)]) : isDirectory ? .directories([path]) : .file(path)
    }

    private static func parent(of path: String) -> String {
        let name = path.lastIndex { $0 != "/" }.map { path[...$0] } ?? ""
        guard let slash = name.lastIndex(of: "/") else { return "." }
        return slash == name.startIndex ? "/" : String(name[..<slash])
    }

    /// Whether this file or these directories belong to `other`.
    public func isWithin(_ other: ConfigurationLocation) -> Bool {
        guard case .directories(let parents) = other else { return false }
        return switch self {
        case .file(let path): parents.contains { path.hasPrefix($0 + "/") }
        case .directories(let directories): directories.allSatisfy(parents.contains)
        }
    }

    /// The files and directories, for messages.
    public var description: String {
        switch self {
        case .file(let path): path
        case .directories(let directories): directories.joined(separator: ", ")
        }
    }
}

/// The files that make up a configuration, in the order in which they are read.
struct FileList: Equatable {
    /// `statusd.yaml`, or the only file that a user gave.
    var main: String?
    /// Whether a user gave a single drop-in, so that other files are not read.
    var isPart = false
    /// The drop-ins, by name.
    var dropIns: [String] = []
    /// The problems with files that are ignored or unreadable.
    var problems: [Problem] = []

    /// Finds the files by systemd's rules (UAPI.6).
    ///
    /// A file hides files of the same name in directories of lower precedence, even if it is empty or a link to
    /// `/dev/null`.
    static func find(at location: ConfigurationLocation) -> FileList {
        switch location {
        case .file(let path):
            var files = FileList(main: path)
            files.warnOfWriters(in: [path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."])
            return files
        case .directories(let directories):
            var files = FileList()
            let directories = directories.filter { files.isSearchable($0) }
            files.main = directories.map { $0 + "/statusd.yaml" }.first(where: exists)
            for misnamed in directories.map({ $0 + "/statusd.yml" }) where exists(misnamed) {
                files.warnOfName(misnamed)
            }
            var dropIns: [String: String] = [:]
            for directory in directories {
                for name in files.names(in: directory + "/conf.d") where dropIns[name] == nil {
                    dropIns[name] = directory + "/conf.d/" + name
                }
            }
            files.dropIns = dropIns.sorted { $0.key < $1.key }.map(\.value)
            files.warnOfWriters(in: directories.flatMap { [$0, $0 + "/conf.d"] })
            return files
        }
    }

    /// Finds the files for `statusctl verify`; a single file may be a drop-in.
    static func findToCheck(at location: ConfigurationLocation) -> FileList {
        var files = find(at: location)
        guard case .file(let path) = location else { return files }
        let names = path.split(separator: "/").suffix(2)
        files.isPart = names.count == 2 && names.first == "conf.d"
        if files.isPart, !path.hasSuffix(".yaml") { files.warnOfName(path) }
        return files
    }

    var all: [String] { (main.map { [$0] } ?? []) + dropIns }

    /// Whether the path exists, even as a dangling link; then reading it reports the error.
    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || errno != ENOENT && errno != ENOTDIR
    }

    /// Whether a directory can be searched; adds a problem if not, or if it is a dangling link.
    private mutating func isSearchable(_ directory: String) -> Bool {
        var status = stat()
        if lstat(directory + "/statusd.yaml", &status) == 0 { return true }
        let failure = errno
        let isDangling = failure == ENOENT && lstat(directory, &status) == 0 && stat(directory, &status) != 0
        guard isDangling || failure == EACCES || failure == ENOTDIR
        else { return true }
        problems.append(Problem(unreadable: directory, errno: failure))
        return false
    }

    /// Returns the names of the drop-ins in a directory; adds a problem if it cannot be read.
    private mutating func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else {
            let failure = errno
            if Self.exists(directory) {
                problems.append(Problem(unreadable: directory, errno: failure))
            }
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix(".") else { continue }
            if name.hasSuffix(".yaml") { names.append(name) }
            if name.hasSuffix(".yml") { warnOfName("\(directory)/\(name)") }
        }
        let failure = errno
        if failure != 0 { problems.append(Problem(unreadable: directory, errno: failure)) }
        return names
    }

    /// Warns of files and folders that everybody may write.
    private mutating func warnOfWriters(in folders: [String]) {
        for path in folders + all {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IWOTH != 0 else { continue }
            // A link to /dev/null is an empty file, and in /tmp nobody can replace another user's draft.
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            guard isFolder || status.st_mode & S_IFMT == S_IFREG else { continue }
            if isFolder, status.st_mode & S_ISVTX != 0, !path.hasSuffix("/conf.d") { continue }
            let reason = "everybody may write it, and so run programs as plugins; run “chmod o-w \(path)”"
            problems.append(Problem(.warning, at: Origin(file: path), reason: reason))
        }
    }

    private mutating func warnOfName(_ path: String) {
        problems.append(
            Problem(
                .warning, at: Origin(file: path), reason: "ignored because its name does not end in .yaml; rename it"
            ))
    }
}
