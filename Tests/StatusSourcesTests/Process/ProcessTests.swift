// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusModel
import StatusWorkers
import Testing
import Varlink

@testable import StatusSources

@Suite("Processes") struct ProcessTests {
    /// A folder of processes: each with a number, a name, a state, a user and a size.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.path + "/statusd-\(UUID())"

        init(_ processes: [(String, String, String, Int, Int?)]) throws {
            try write("1/stat", "1 (init) S")
            for (number, name, state, user, size) in processes {
                try write("\(number)/comm", name + "\n")
                let memory = size.map { "VmRSS:\t  \($0) kB\n" } ?? ""
                try write(
                    "\(number)/status",
                    "Name:\t\(name)\nState:\t\(state)\nUid:\t\(user)\t\(user)\t7\t7\n\(memory)Threads:\t1\n")
            }
            try write("uptime", "1 2\n")
        }

        func write(_ path: String, _ text: String) throws {
            let file = URL(filePath: "\(self.path)/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func settings(_ name: String, user: String? = nil, _ least: Int = 1, _ most: Int? = nil) -> ProcessSettings
    {
        var settings = ProcessSettings(name: name)
        (settings.user, settings.least, settings.most) = (user, least, most)
        return settings
    }

    @Test("settings are read")
    func reads() throws {
        #expect(try ProcessSettings.read("process: sshd").settings == settings("sshd"))
        #expect(
            try ProcessSettings.read("process: { name: sshd, user: root, count: 1..10 }").settings
                == settings("sshd", user: "root", 1, 10))
        #expect(try ProcessSettings.read("process: { name: a, count: 3 }").settings == settings("a", 3, 3))
        #expect(try ProcessSettings.read("process: { name: a, count: 0 }").settings == settings("a", 0, 0))
        #expect(try ProcessSettings.read("process: { name: a, count: 2.. }").settings == settings("a", 2, nil))
        #expect(settings("a", user: "root").requirements == [.account("root")])
    }

    @Test("a name with arguments is a warning; some programs have names with blanks")
    func arguments() throws {
        let (settings, problems) = try ProcessSettings.read("process: { name: sleep 100, count: 0 }")
        #expect(settings?.name == "sleep 100")
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.reason) == ["“sleep 100” is compared with names, which have no arguments"])
        #expect(try ProcessSettings.read("process: \"tmux: server\"").problems.isEmpty)
        #expect(throws: Problem.self) { try ProcessSettings.read("process: true") }
        #expect(try ProcessSettings.read("process: 'true'").settings?.name == "true")
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "/usr/sbin/sshd", "[sshd]", "{ user: root }", "{ name: a, count: 2..1 }", "{ name: a, count: ..3 }",
            "{ name: a, count: 1.5 }", "{ name: a, count: 1...3 }", "{ name: a, count: some }", "{ name: a, count: }",
            "{ name: a, user: }", "{ name: a, count: 1..2..3 }",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try ProcessSettings.read("process: \(value)") }
    }

    @Test("processes are counted by name and effective user; dead ones, and names that only begin so, are not")
    func counts() throws {
        let folder = try Folder([
            ("10", "sshd", "S (sleeping)", 0, 1000), ("11", "sshd", "R (running)", 5, 500),
            ("12", "sshd", "Z (zombie)", 0, nil),
            ("13", "sshd-session", "S (sleeping)", 0, 1), ("14", "ssh", "S (sleeping)", 0, 1),
        ])
        let all = try ProcessFinding.find(settings("sshd"), in: folder.path)
        #expect(all == ProcessFinding(count: 2, memory: 1_536_000))
        #expect(try ProcessFinding.find(settings("sshd", user: "5"), in: folder.path).count == 1)
        #expect(try ProcessFinding.find(settings("sshd", user: "root"), in: folder.path).count == 1)
        #expect(try ProcessFinding.find(settings("cron"), in: folder.path) == ProcessFinding())
    }

    @Test("a program whose first thread has ended runs as long as another thread")
    func threads() {
        var finding = ProcessFinding()
        finding.take("Name:\ta\nState:\tZ (zombie)\nUid:\t0\t0\t0\t0\nThreads:\t2\n", user: nil)
        #expect(finding.count == 1)
        finding.take("Name:\ta\nState:\tZ (zombie)\nUid:\t0\t0\t0\t0\nThreads:\t1\n", user: nil)
        #expect(finding.count == 1)
    }

    @Test("the kernel's own threads have no memory, and it cuts names after 15 bytes")
    func names() throws {
        let folder = try Folder([
            ("10", "systemd-journal", "S (sleeping)", 0, 1), ("11", "kthreadd", "S (sleeping)", 0, nil),
        ])
        #expect(try ProcessFinding.find(settings("systemd-journald"), in: folder.path).count == 1)
        // Another program whose name begins in the same way.
        try folder.write("10/cmdline", "/usr/lib/systemd-journal-remote\0--listen\0")
        #expect(try ProcessFinding.find(settings("systemd-journald"), in: folder.path).count == 0)
        try folder.write("10/cmdline", "/usr/bin/python3\0/usr/lib/systemd-journald\0")
        #expect(try ProcessFinding.find(settings("systemd-journald"), in: folder.path).count == 1)
        #expect(
            try ProcessFinding.find(settings("kthreadd"), in: folder.path) == ProcessFinding(count: 1, memory: 0))
    }

    @Test("a setuid program that another user has started is not a process of its owner")
    func setuid() {
        var finding = ProcessFinding()
        finding.take("Name:\tcron\nState:\tS (sleeping)\nUid:\t65534\t0\t0\t0\n", user: 0)
        #expect(finding.count == 0)
    }

    @Test("processes that cannot be seen are not taken for none")
    func hidden() throws {
        let folder = try Folder([])
        try FileManager.default.removeItem(atPath: folder.path + "/1")
        #expect(throws: CheckFailure.self) { try ProcessFinding.find(settings("a"), in: folder.path) }
        let failure = #expect(throws: CheckFailure.self) {
            try ProcessFinding.find(settings("a", user: "statusd-nobody-here"))
        }
        #expect(failure?.description == "unknown user “statusd-nobody-here”")
    }

    @Test(
        "too few and too many are critical",
        arguments: [
            (1, 1, nil, Level.ok, "1 process, 12 MB"), (0, 1, nil, .critical, "0 processes, expected at least 1"),
            (2, 3, 3, .critical, "2 processes, expected 3"), (11, 1, 10, .critical, "11 processes, expected 1 to 10"),
            (0, 0, 0, .ok, "0 processes"), (2, 0, 0, .critical, "2 processes, expected 0"),
        ])
    func judges(_ count: Int, _ least: Int, _ most: Int?, _ level: Level, _ text: String) {
        let result = settings("a", least, most).judge(ProcessFinding(count: count, memory: 12e6))
        #expect((result.level, result.text) == (level, text))
        #expect(result.values.map(\.name) == ["processes", "memory"])
    }

    @Test("the process that counts gets all settings")
    func call() throws {
        for settings in [settings("a"), settings("ü", user: "5", 2, 3)] {
            let received = try WorkerMessage.encode(settings).dropLast()
                .withUnsafeBytes { try WorkerMessage.decode(ProcessSettings.self, from: $0) }
            #expect(received == settings)
        }
    }
}
