// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusModel
import StatusWorkers
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

    /// Mounts of a service that has its own folder in the place of `hidden` of the test's folder.
    private var mounts: String {
        "96 24 8:1 /tmp/systemd-private-0f-statusd.service-Xy/tmp \(folder)/hidden rw - ext4 /dev/sda1 rw"
    }

    @Test(
        "whatever leads into a folder that the service hides, also through links and patterns, is not absent",
        arguments: [
            ("hidden/a", "hidden/a"), ("hidden/a/b", "hidden/a/b"), ("hidden/*", "hidden"), ("hid*/a", "hidden/a"),
            ("hid*/*/a", "hidden"), ("link", "link"), ("folder/a", "folder/a"), ("folder/*", "folder"),
            ("f*r/a", "folder/a"), ("op*/up/a", "open/up/a"), ("lin[k]", "link"),
            ("open/../hidden/a", "open/../hidden/a"),
        ], [true, false])
    func hiddenFolders(_ path: (String, String), exists: Bool) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: "\(folder)/hidden", withIntermediateDirectories: true)
        try files.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "\(folder)/hidden/flag")
        try files.createSymbolicLink(atPath: "\(folder)/folder", withDestinationPath: "hidden")
        try files.createSymbolicLink(atPath: "\(folder)/open/up", withDestinationPath: "../folder")
        var settings = FileSettings(path: "\(folder)/\(path.0)")
        settings.exists = exists
        let reason = "PrivateTmp= of the service hides \(folder)/hidden"
        #expect(
            FileFinding.find(settings, hidden: HiddenFolders(mounts: mounts))
                == .unknown(path: "\(folder)/\(path.1)", reason))
    }

    @Test("next to a hidden folder, and without a sandbox, a missing file is absent")
    func visible() {
        for path in ["a", "hiddenfiles/a", "open/*", "op*/a"] {
            let settings = FileSettings(path: "\(folder)/\(path)")
            for mounts in ["", mounts] {
                #expect(FileFinding.find(settings, hidden: HiddenFolders(mounts: mounts)) == .missing())
            }
        }
    }

    @Test("the text about a missing file says where its link leads")
    func danglingLinks() throws {
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/dangling", withDestinationPath: "nowhere")
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/up", withDestinationPath: "open")
        for (path, target) in [("dangling", "nowhere"), ("dangling/a", "nowhere"), ("up/../dangling", "nowhere")] {
            let text = "no such file: \(folder)/\(path); its link leads to \(folder)/\(target), which does not exist"
            #expect(try check(path, exists: true) == CheckResult(.critical, text))
            #expect(try check(path, exists: false) == CheckResult(.ok, text))
        }
        for path in ["open/a", "up/a", "up//a", "open/../a"] {
            #expect(try check(path, exists: true).text == "no such file: \(folder)/\(path)")
        }
    }
}
