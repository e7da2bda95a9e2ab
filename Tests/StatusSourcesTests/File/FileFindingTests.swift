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

    @Test("a service with its own /tmp does not see the host's")
    func privateFolders() {
        let mounts = """
            24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            95 24 8:1 /tmp/systemd-private-0f-statusd.service-Xy/tmp /tmp rw - ext4 /dev/sda1 rw
            96 24 8:1 /var/tmp/systemd-private-0f-statusd.service-Zz/tmp /var/tmp rw - ext4 /dev/sda1 rw
            """
        #expect(PrivateFolders.folder(of: "/tmp/flag", mounts: mounts) == "/tmp")
        #expect(PrivateFolders.folder(of: "/var/tmp/a/*", mounts: mounts) == "/var/tmp")
        #expect(PrivateFolders.folder(of: "/tmpfiles/flag", mounts: mounts) == nil)
        #expect(PrivateFolders.folder(of: "/srv/tmp/flag", mounts: mounts) == nil)
        #expect(PrivateFolders.folder(of: "/tmp/flag", mounts: "24 1 8:1 / / rw - ext4 /dev/sda1 rw") == nil)
    }
}
