// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds
import StatusModel
import StatusWorkers
import Testing
import Varlink

@testable import StatusSources

@Suite("Settings of disks") struct DiskSettingsTests {
    @Test("a path and its limits are read")
    func reads() throws {
        #expect(try DiskSettings.read("disk: /").settings == DiskSettings(path: "/"))
        var backup = DiskSettings(path: "/mnt/backup")
        (backup.space, backup.inodes, backup.mounted) = (Thresholds(warning: 70, critical: 99.5), 50, true)
        let entry = "disk: { path: /mnt/backup, warning: 70%, critical: 99.5%, inodes: 50%, mounted: true }"
        #expect(try DiskSettings.read(entry).settings == backup)
        #expect(try DiskSettings.read("disk: /dev/shm").settings?.path == "/dev/shm")
    }

    @Test("the daemon must see the path; its own /tmp is on the same file system as the host's")
    func requirements() {
        #expect(DiskSettings(path: "/var").requirements == [.visiblePath("/var")])
        for path in ["/tmp", "/home", "/root/a"] { #expect(DiskSettings(path: path).requirements.isEmpty) }
        #expect(DiskSettings(path: "/homes").requirements == [.visiblePath("/homes")])
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            ("var", "“disk” must be an absolute path on the file system, such as / or /var"),
            ("/dev/sda1", "“disk” must be an absolute path on the file system, such as / or /var, and not its device"),
            ("{ warning: 80% }", "“disk” requires “path”, such as /var"),
            ("{ path: /, warning: 80 }", "“warning” must be a percentage such as 85%, from 1% to 100%"),
            ("{ path: /, critical: 0% }", "“critical” must be a percentage such as 85%, from 1% to 100%"),
            ("{ path: /, critical: 80% }", "“warning” (85%) must not be above “critical” (80%); set both"),
            ("{ path: /, mounted: perhaps }", "“mounted” must be true or false"),
        ])
    func mistakes(_ value: String, _ reason: String) {
        let problem = #expect(throws: Problem.self) { try DiskSettings.read("disk: \(value)") }
        #expect(problem?.reason == reason)
    }

    @Test("the worker gets all settings")
    func call() throws {
        var settings = DiskSettings(path: "/a/ü")
        (settings.space, settings.inodes, settings.mounted) = (Thresholds(warning: 1.5, critical: 99), 3, true)
        let received = try WorkerMessage.encode(settings).dropLast()
            .withUnsafeBytes { try WorkerMessage.decode(DiskSettings.self, from: $0) }
        #expect(received == settings)
    }
}

@Suite("Judgements of disks") struct DiskJudgementTests {
    private static let system = FileSystem(size: 98e9, used: 66e9, free: 28e9, inodes: 1000, usedInodes: 100)

    private func judge(
        _ system: FileSystem = Self.system, _ change: (inout DiskSettings) -> Void = { _ in }
    ) throws -> CheckResult {
        var settings = DiskSettings(path: "/var")
        change(&settings)
        return try settings.judge(.found(system))
    }

    @Test("the text and the values have the numbers of df")
    func numbers() throws {
        let result = try judge()
        #expect(result.level == .ok)
        // 70.2 %, which df rounds up.
        #expect(result.text == "71% of 98 GB used, 28 GB free")
        #expect(result.values.map(\.name) == ["used", "size", "free", "inodes"])
        #expect(result.values[0].value == 71)
        #expect((result.values[0].warning, result.values[0].critical) == (85, 95))
        #expect(result.values[3] == MeasuredValue("inodes", 10, "%", warning: 90, critical: 95))
    }

    @Test("a limit counts as soon as df shows it")
    func limits() throws {
        #expect(try judge { $0.space.warning = 71 }.level == .warning)
        #expect(try judge { $0.space.warning = 72 }.level == .ok)
        #expect(try judge { $0.space = Thresholds(warning: 60, critical: 71) }.level == .critical)
        let full = FileSystem(size: 98e9, used: 98e9, free: 0, inodes: 0, usedInodes: 0)
        #expect(try judge(full).text == "100% of 98 GB used, 0 B free")
        #expect(try judge(full).level == .critical)
        #expect(try judge(full).values.count == 3)
    }

    @Test("used inodes are a warning, critical once nearly all are used, and never hide that the space is critical")
    func inodes() throws {
        let result = try judge { $0.inodes = 10 }
        #expect(result.level == .warning)
        #expect(result.text == "71% of 98 GB used, 28 GB free; 10% of inodes used")
        let used = FileSystem(size: 98e9, used: 1e9, free: 97e9, inodes: 20, usedInodes: 20)
        #expect(try judge(used).level == .critical)
        #expect(try judge { ($0.inodes, $0.space.critical, $0.space.warning) = (10, 50, 50) }.level == .critical)
    }

    @Test("a file system that takes no writes is critical, unless it is meant to")
    func readOnly() throws {
        var system = Self.system
        system.isReadOnly = true
        #expect(
            try judge(system)
                == CheckResult(
                    .critical, "read-only; 71% of 98 GB used, 28 GB free", values: judge().values))
        system.isMeantReadOnly = true
        system.free = 0
        #expect(try judge(system).level == .ok)
        #expect(try judge(system).text == "98 GB, read-only")
    }

    @Test("a disk that is not there or broken is critical, and one that cannot be looked at is not")
    func absent() throws {
        let settings = DiskSettings(path: "/mnt")
        #expect(
            try settings.judge(.notMounted)
                == CheckResult(.critical, "nothing is mounted at /mnt, which /etc/fstab has"))
        var mount = settings
        mount.mounted = true
        #expect(try mount.judge(.notMounted) == CheckResult(.critical, "nothing is mounted at /mnt"))
        #expect(try settings.judge(.missing) == CheckResult(.critical, "no such file or directory: /mnt"))
        #expect(
            try settings.judge(.broken("Stale file handle"))
                == CheckResult(.critical, "cannot read /mnt: Stale file handle"))
        #expect(throws: CheckFailure.self) { try settings.judge(.found(FileSystem())) }
        #expect(try judge(FileSystem()) { $0.mounted = true } == CheckResult(.ok, "mounted"))
    }

    @Test("absurd numbers of a hostile file system do no harm")
    func absurd() throws {
        var numbers = statvfs()
        (numbers.f_frsize, numbers.f_blocks, numbers.f_bfree) = (.max, .max, .max)
        (numbers.f_bavail, numbers.f_files, numbers.f_ffree) = (.max, 1, .max)
        let system = FileSystem(numbers)
        #expect((system.free, system.used, system.usedInodes) == (0, 0, 0))
        #expect(system.usedPercentage == 0)
        (numbers.f_bfree, numbers.f_bavail) = (0, 1)
        #expect(try judge(FileSystem(numbers)).level == .critical)
    }
}

@Suite("The mounts of a service") struct MountTableTests {
    private let table = MountTable(
        """
        329 291 8:1 / / ro,relatime shared:45 master:1 - ext4 /dev/sda1 rw,errors=remount-ro
        330 329 0:44 / /tmp rw,nosuid,nodev shared:62 master:2 - tmpfs tmpfs rw,size=2473172k
        340 329 8:2 / /mnt/my\\040disk\\134 ro,relatime master:1 - ext4 /dev/sdb1 rw,emergency_ro
        341 329 0:44 /systemd-private-3da7-statusd.service-q0MJlG/tmp /var/tmp rw shared:63 - tmpfs tmpfs rw
        350 329 8:3 / /cd ro - iso9660 /dev/sr0 ro
        355 329 8:1 /home /home ro - ext4 /dev/sda1 rw
        356 340 8:2 /a /mnt/my\\040disk\\134/a ro - ext4 /dev/sdb1 rw
        357 329 8:1 /srv/data /data ro - ext4 /dev/sda1 rw
        358 329 0:30 / /big ro - btrfs /dev/sdd1 rw
        359 358 0:30 /@home /big/home ro - btrfs /dev/sdd1 rw
        360 329 8:4 / /archive ro - ext4 /dev/sdc1 ro
        broken line
        """)

    private func note(_ number: Substring, fstab: String = "") throws -> FileSystem {
        var system = FileSystem()
        system.note(try #require(table[number]), fstab: fstab)
        return system
    }

    @Test("the sandbox is mounted read-only, which the file system is not")
    func sandbox() throws {
        #expect(try note("329").isReadOnly == false)
        #expect(table["1"] == nil)
    }

    @Test("a file system is read-only after an error; one that is meant to be is known by its type or by fstab")
    func readOnly() throws {
        #expect(try note("340").isReadOnly)
        #expect(try note("340", fstab: "/dev/sdb1 /mnt/my\\040disk\\134 ext4 ro 0 2").isMeantReadOnly == false)
        #expect(try note("350").isMeantReadOnly)
        #expect(try note("360").isMeantReadOnly == false)
        #expect(try note("360", fstab: "# disks\nUUID=1\t/archive  ext4  noatime,ro 0 2").isMeantReadOnly)
        #expect(try note("360", fstab: "UUID=1 /archive ext4 noatime,errors=remount-ro 0 2").isMeantReadOnly == false)
    }

    @Test("what fstab mounts at the start must be mounted, but not what it mounts on demand, nor the root")
    func fstab() {
        let text =
            "UUID=1 / ext4 rw 0 1\n#/dev/a /old ext4 rw 0 0\nUUID=2\t/mnt/ ext4 nofail 0 2\n"
            + "UUID=3 /cd iso9660 ro,noauto 0 0\nUUID=4 none swap sw 0 0\n"
        #expect(MountTable.isMountedAtStart("/mnt", by: text))
        for folder in ["/", "/old", "/cd", "/mnt/a"] {
            #expect(!MountTable.isMountedAtStart(folder, by: text))
        }
    }

    @Test("a mount point may have any name, and is not the service's own copy of a folder")
    func mountPoints() {
        #expect(table.isMounted(at: "/mnt/my disk\\"))
        #expect(table.isMounted(at: "/tmp"))
        #expect(!table.isMounted(at: "/var/tmp"))
        #expect(!table.isMounted(at: "/mnt"))
    }

    @Test("a folder that the sandbox mounts onto itself is not a mount; a part of the same file system is")
    func itself() {
        #expect(!table.isMounted(at: "/home"))
        #expect(!table.isMounted(at: "/mnt/my disk\\/a"))
        #expect(table.isMounted(at: "/data"))
        #expect(table.isMounted(at: "/big/home"))
        #expect(table.isMounted(at: "/"))
    }

    @Test("the number of this host's root is in the table")
    func real() throws {
        guard case .found(let system) = try DiskFinding.find(DiskSettings(path: "/")) else {
            Issue.record("no file system at /")
            return
        }
        #expect(system.size > 0)
        #expect(try DiskFinding.find(DiskSettings(path: "/nonexistent/a")) == .missing)
        var folder = DiskSettings(path: "/etc/passwd")
        folder.mounted = true
        #expect(try DiskFinding.find(folder) == .notMounted)
    }
}
