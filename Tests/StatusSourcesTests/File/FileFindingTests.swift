// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("What cannot be looked at is not absent") final class FileFindingTests {
    private let folder = NSTemporaryDirectory() + "statusd-" + UUID().uuidString

    init() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: "\(folder)/open", withIntermediateDirectories: true)
        // A link to itself cannot be followed, whoever tries.
        try files.createSymbolicLink(atPath: "\(folder)/loop", withDestinationPath: "loop")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ name: String) throws {
        try "".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }

    private func check(_ name: String, exists: Bool) throws -> CheckResult {
        var settings = FileSettings(path: "\(folder)/\(name)")
        settings.exists = exists
        return try settings.check()
    }

    @Test(
        "an error in any part of a path or pattern makes the check fail",
        arguments: [
            ("loop", "loop"), ("loop/flag", "loop/flag"), ("loop/*", "loop"), ("loop/*/flag", "loop"),
            ("*/flag", "loop/flag"), ("*/fl*", "loop"), ("l[o]op/flag", "loop/flag"), ("?oop", "loop"),
        ], [true, false])
    func failures(_ path: (String, String), exists: Bool) {
        #expect(throws: CheckFailure("cannot access \(folder)/\(path.1): Too many levels of symbolic links")) {
            try check(path.0, exists: exists)
        }
    }

    @Test("a name that is too long is not absent")
    func longNames() {
        let name = String(repeating: "x", count: 300)
        for pattern in [name, "\(name)/flag", "*/\(name)"] {
            #expect(throws: CheckFailure.self) { try check(pattern, exists: false) }
        }
    }

    @Test("what is missing is absent, also behind a file or a dangling link")
    func missing() throws {
        try write("file")
        try FileManager.default.removeItem(atPath: "\(folder)/loop")
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/dangling", withDestinationPath: "nowhere")
        for path in ["a", "a/b", "file/b", "a/*", "file/*", "*/flag", "*/*", "open/*", "dangling", "dangling/*"] {
            #expect(try check(path, exists: false).level == .ok, "\(path)")
            #expect(try check(path, exists: true).level == .critical, "\(path)")
        }
    }

    @Test("a file that must not exist is found even if another place cannot be looked at")
    func foundNevertheless() throws {
        try write("open/flag")
        #expect(try check("*/flag", exists: false) == CheckResult(.critical, "flag exists"))
        #expect(throws: CheckFailure.self) { try check("*/flag", exists: true) }
    }

    @Test("what the sandbox of the service hides may exist, also where a link leads there")
    func hiddenFolders() throws {
        let mounts = """
            24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            95 24 8:1 /tmp/systemd-private-0f-statusd.service-Xy/tmp /tmp rw - ext4 /dev/sda1 rw
            96 24 8:1 /var/tmp/systemd-private-0f-statusd.service-Zz/tmp /var/tmp rw - ext4 /dev/sda1 rw
            97 24 0:5 / /dev rw,nosuid,noexec - tmpfs tmpfs rw,mode=755
            98 97 0:6 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw
            99 24 0:7 / /proc rw,nosuid - proc proc rw,hidepid=invisible,subset=pid
            """
        let hidden = HiddenFolders(mounts: mounts)
        #expect(hidden.reason(for: "/tmp/flag") == "PrivateTmp= of the service hides /tmp")
        #expect(hidden.reason(for: "/var/tmp/a/b") == "PrivateTmp= of the service hides /var/tmp")
        #expect(hidden.reason(for: "/dev/console-2") == "PrivateDevices= of the service hides /dev")
        #expect(hidden.reason(for: "/proc/nothing") == "ProtectProc= or ProcSubset= of the service hides /proc")
        for path in ["/tmpfiles/flag", "/srv/tmp/flag", "/dev/shm/flag"] { #expect(hidden.reason(for: path) == nil) }
        try write("a")
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "/tmp/nothing-here")
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/folder", withDestinationPath: "/var/tmp")
        #expect(hidden.reason(for: "\(folder)/link") == "PrivateTmp= of the service hides /tmp")
        #expect(hidden.reason(for: "\(folder)/folder/nothing") == "PrivateTmp= of the service hides /var/tmp")
        let host = HiddenFolders(mounts: "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n25 24 0:5 / /dev rw - tmpfs tmpfs rw")
        for path in ["/tmp/flag", "/dev/flag"] { #expect(host.reason(for: path) == nil) }
    }
}
