// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusSupport

/// The mounts that this process sees (proc(5), /proc/self/mountinfo).
struct MountTable {
    struct Mount: Equatable {
        /// The number of the mount that has the folder.
        var parent: Substring
        /// The number of the file system.
        var device: Substring
        /// The folder of the file system that is mounted; `/` for all of it.
        var root: String
        /// Where it is mounted.
        var folder: String
        var type: String
        /// The options of the file system itself, which are the same in each sandbox.
        var options: Set<Substring>
    }

    /// The lines, which are read as needed: there may be hundreds.
    private let lines: [Substring]

    /// - Parameter text: the text of /proc/self/mountinfo.
    init(_ text: String) { lines = text.split(separator: "\n") }

    /// The mount with a number.
    subscript(number: Substring) -> Mount? { lines.first { $0.hasPrefix("\(number) ") }.flatMap(Self.mount) }

    private static func mount(_ line: Substring) -> Mount? {
        let fields = line.split(separator: " ")
        guard fields.count > 6, let end = fields.firstIndex(of: "-"), fields.count > end + 3 else { return nil }
        return Mount(
            parent: fields[1], device: fields[2], root: plain(fields[3]), folder: plain(fields[4]),
            type: String(fields[end + 1]), options: Set(fields[end + 3].split(separator: ",")))
    }

    /// Whether a file system is mounted at a folder, other than what the service's sandbox mounts there.
    func isMounted(at folder: String) -> Bool {
        lines.lazy.compactMap(Self.mount).contains {
            $0.folder == folder && !$0.root.contains("/systemd-private-") && !isItself($0)
        }
    }

    /// Whether a mount shows what would be in its place without it, as a sandbox does to make it read-only.
    private func isItself(_ mount: Mount) -> Bool {
        guard let parent = self[mount.parent], parent.device == mount.device else { return false }
        let path = Self.parts(parent.root) + Self.parts(mount.folder).dropFirst(Self.parts(parent.folder).count)
        return Self.parts(mount.root) == path
    }

    private static func parts(_ path: String) -> [Substring] { path.split(separator: "/") }

    /// Whether fstab(5) says that a folder is mounted for reading only.
    static func isReadOnly(_ folder: String, in fstab: String) -> Bool {
        options(of: folder, in: fstab).contains { $0.contains("ro") }
    }

    /// Whether fstab(5) says that something is mounted at a folder when the host starts; the root always is.
    static func isMountedAtStart(_ folder: String, by fstab: String) -> Bool {
        folder != "/" && options(of: folder, in: fstab).contains { !$0.contains("noauto") }
    }

    /// The options of the lines of fstab(5) for a folder.
    private static func options(of folder: String, in fstab: String) -> [[Substring]] {
        fstab.split(separator: "\n").compactMap { line in
            let fields = line.split { $0 == " " || $0 == "\t" }
            guard fields.count > 3, fields[0].first != "#", parts(plain(fields[1])) == parts(folder) else { return nil }
            return fields[3].split(separator: ",")
        }
    }

    /// Replaces the escapes of the characters that would end a field, such as `\040` for a space.
    private static func plain(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            let isEscape = byte == UInt8(ascii: "\\") && digits.count == 3 && digits.allSatisfy { 0x30...0x37 ~= $0 }
            bytes.append(isEscape ? digits.reduce(0) { $0 &* 8 &+ ($1 - 0x30) } : byte)
            if isEscape { rest = rest.dropFirst(3) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the number of the mount that has a path; nil, with its `errno`, if the path cannot be opened.
    static func number(ofMountAt path: String) -> Substring? {
        let descriptor = open(path, __O_PATH | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let lines = (SystemFile.text(at: "/proc/self/fdinfo/\(descriptor)") ?? "").split(separator: "\n")
        let line = lines.first { $0.hasPrefix("mnt_id:") }
        return line?.split { $0 == "\t" || $0 == " " }.last ?? ""
    }
}
