// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusConfiguration
import StatusModel
import Testing

@testable import StatusCommands

@Suite("A first configuration") struct InitTests {
    private func block(_ id: String, _ active: String, _ type: String = "simple", _ state: String = "enabled") -> String
    {
        "Type=\(type)\nId=\(id)\nDescription=The \"\(id)\": a = b\nActiveState=\(active)\nUnitFileState=\(state)\n"
    }

    /// The configuration that the daemon reads from the file, in a directory that did not exist before.
    private func loaded(_ configuration: InitialConfiguration) throws -> LoadedConfiguration {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("statusd-init-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try InitialFile.write(configuration.text(date: "2026-11-26"), to: "\(folder)/conf.d/00-init.yaml")
        return ConfigurationLoader(location: .directories([folder])).loadAll()
    }

    private func disks(_ mounts: String, fstab: String = "", isVisible: (String) -> Bool = { _ in true }) -> [String] {
        var survey = HostSurvey()
        survey.readDisks(mounts, fstab: fstab, isVisible: isVisible)
        return survey.disks
    }

    @Test("failed services come first, then the host's main ones, then what timers start; what is left out is named")
    func services() {
        let output = [
            block("zebra.service", "active"), block("ssh.service", "active"),
            block("postgresql@15-main.service", "active", "forking", "enabled-runtime"),
            block("systemd-journald.service", "active"), block("getty@tty1.service", "active"),
            block("backup.service", "failed", "oneshot", "static"),
            block("networking.service", "active", "oneshot"), block("cron.service", "active"),
            block("off.service", "inactive"),
            block("dbus.service", "failed"), block("statusd.service", "active"), block("cron.service", "active"),
            block("static.service", "active", "simple", "static"),
            block("dump.service", "inactive", "oneshot", "static"),
            block("man.service", "inactive", "oneshot", "static"),
            block("systemd-tmpfiles-clean.service", "inactive", "oneshot", "static"),
            block("dump.timer", "active") + "Unit=dump.service\n",
            block("man.timer", "inactive") + "Unit=man.service\n",
            block("systemd-tmpfiles-clean.timer", "active") + "Unit=systemd-tmpfiles-clean.service\n",
        ].joined(separator: "\n")
        var survey = HostSurvey()
        survey.readUnits(output)
        let services = survey.services
        #expect(
            services.map(\.name) == [
                "backup.service", "dbus.service", "postgresql@15-main.service", "ssh.service", "cron.service",
                "zebra.service", "dump.service",
            ])
        #expect(
            survey.omissions == [
                HostSurvey.Omission(
                    reason: "parts of the system",
                    names: ["systemd-journald.service", "getty@tty1.service", "systemd-tmpfiles-clean.service"]),
                HostSurvey.Omission(reason: "services that are not enabled", names: ["static.service"]),
                HostSurvey.Omission(
                    reason: "enabled services and timers that are not running", names: ["off.service", "man.timer"]),
                HostSurvey.Omission(reason: "oneshots that run only at boot", names: ["networking.service"]),
            ])
        let entries = InitialConfiguration(survey, hasDiskPlugin: true).entries
        #expect(entries.last?.name.rawValue == "failed-units" && entries.last?.settings == "units: failed")
        #expect(services.first?.description == "The \"backup.service\": a = b")
        survey = HostSurvey()
        survey.readUnits("")
        #expect(survey.services.isEmpty && survey.omissions.isEmpty)
        #expect(InitialConfiguration(survey, hasDiskPlugin: true).failedUnits == nil)
    }

    @Test("disks are the file systems of this host, each once, and not those of others")
    func disks() {
        let mounts = """
            /dev/sda1 / ext4 rw 0 0
            proc /proc proc rw 0 0
            /dev/sda2 /boot ext4 rw 0 0
            /dev/sda1 /srv/bind ext4 rw 0 0
            nas:/export /mnt/nas nfs4 rw 0 0
            /dev/sdc1 /mnt/new\\012line ext4 rw 0 0
            /dev/sdb1 /srv/with\\040blank xfs rw 0 0
            tmpfs /tmp tmpfs rw 0 0
            """
        #expect(disks(mounts) == ["/", "/srv/with blank"])
        var survey = HostSurvey()
        survey.readDisks(mounts)
        #expect(survey.omissions == [HostSurvey.Omission(reason: "file systems of other hosts", names: ["/mnt/nas"])])
        survey = HostSurvey()
        survey.readDisks(
            mounts,
            fstab: """
                # What is not mounted now.
                UUID=1 /data/ auto defaults 0 2
                UUID=2 /srv/subvolume btrfs subvol=a 0 0
                UUID=2 /srv/other btrfs subvol=b 0 0
                LABEL=usb /mnt/usb vfat nofail 0 0
                //nas/share /mnt/share cifs credentials=/root/x 0 0
                UUID=3 none swap sw 0 0
                """)
        #expect(survey.disks == ["/", "/data", "/srv/subvolume", "/srv/with blank"])
        #expect(
            survey.omissions == [
                HostSurvey.Omission(reason: "file systems of other hosts", names: ["/mnt/nas", "/mnt/share"]),
                HostSurvey.Omission(reason: "other file systems", names: ["/mnt/usb", "/srv/other"]),
            ])
        #expect(disks("overlay / overlay rw 0 0\n") == ["/"])
        #expect(disks("/dev/sda1 /mnt/x\u{FFFE}y ext4 rw 0 0\n") == [])
        let twice = "/dev/sda1 /hidden ext4 rw 0 0\n/dev/sda1 /srv ext4 rw 0 0\n/dev/sda1 /opt ext4 rw 0 0\n"
        #expect(disks(twice, isVisible: { $0 != "/hidden" }) == ["/srv"])
    }

    @Test("the file is valid, whatever the names of units and disks", arguments: [true, false])
    func valid(hasDiskPlugin: Bool) throws {
        let names = [
            "nginx.service", "dev-disk\\x2dby.service", "a:b.service", "true.service", "-x.service", "7.service",
            String(repeating: "n", count: 90) + ".service",
        ]
        let services = names.map {
            HostSurvey.Service(
                name: $0, description: "It's \"\($0)\" \\ #1: { x } \u{FFFF}", isFailed: false, isLasting: true)
        }
        let configuration = InitialConfiguration(
            HostSurvey(services: services + services, disks: ["/", "/srv/it's \"quoted\"", "/srv/# x"]),
            hasDiskPlugin: hasDiskPlugin)
        let loaded = try loaded(configuration)
        #expect(loaded.errors.filter { !$0.reason.contains("unit name") }.map(\.description) == [])
        #expect(loaded.configuration.servers.keys.sorted() == configuration.entries.map(\.name).sorted())
        #expect(loaded.configuration.select?.rawValue == "nginx")
        #expect(loaded.configuration.acceptsAny)
        #expect(
            configuration.entries.suffix(3).map(\.name.rawValue) == [
                "disk-root", "disk-srv-it-s--quoted-", "disk-srv---x",
            ])
    }

    @Test("a disk that should be mounted is checked even if it is not mounted now")
    func expected() {
        let fstab = """
            # device  place  type  options  dump  pass
            UUID=1\t/\text4\tdefaults\t0\t1
            UUID=2 /srv/big\\040data xfs defaults,noatime 0 2
            UUID=3 /media/stick ext4 noauto,user 0 0
            UUID=4 /media/disk ext4 nofail 0 0
            UUID=5 none swap sw 0 0
            UUID=6 /boot ext4 defaults 0 2
            nas:/export /mnt/nas nfs4 defaults 0 0
            """
        #expect(disks("/dev/sda1 / ext4 rw 0 0\n", fstab: fstab) == ["/", "/srv/big data"])
    }

    @Test(
        "a disk is full or not; one that is not mounted, or whose folder is missing, is critical",
        arguments: [true, false])
    func unmounted(hasDiskPlugin: Bool) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("it's statusd \(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        func check(_ disk: String) throws -> (level: Int32, text: String)? {
            let loaded = try loaded(
                InitialConfiguration(HostSurvey(disks: [disk]), hasDiskPlugin: hasDiskPlugin))
            let settings = try #require(loaded.configuration.servers.values.first?.source?.base as? ExecSettings)
            // The machine may lack the plugin.
            guard FileManager.default.isExecutableFile(atPath: settings.command[0]) else { return nil }
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: settings.command[0])
            process.arguments = Array(settings.command.dropFirst())
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, text)
        }
        if let root = try check("/") { #expect(root.text.contains("%"), "\(root)") }
        for disk in [folder, "\(folder)/missing"] {
            guard let found = try check(disk) else { return }
            #expect(found.level == 2, "\(found)")
            #expect(found.text.contains(disk), "\(found)")
        }
        if !hasDiskPlugin { #expect(try check(folder)?.text == "\(folder) is not mounted\n") }
    }

    @Test("a temporary file from an earlier run does not matter, even if it is a pipe")
    func leftovers() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("statusd-init-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(mkfifo("\(folder)/init.yaml.new", 0o600) == 0)
        try InitialFile.write("servers: {}\n", to: "\(folder)/init.yaml")
        #expect(try String(contentsOfFile: "\(folder)/init.yaml", encoding: .utf8) == "servers: {}\n")
    }

    @Test("another file's selection and its refusal of posts stay in force")
    func addition() throws {
        let service = HostSurvey.Service(name: "a.service", description: "", isFailed: false, isLasting: true)
        let loaded = try loaded(
            InitialConfiguration(
                HostSurvey(services: [service]), hasDiskPlugin: false, selects: false, accepts: false))
        #expect(loaded.configuration.select == nil)
        #expect(!loaded.configuration.acceptsAny)
        #expect(loaded.configuration.servers.count == 1)
    }

    @Test("a unit without a description, whose name systemd shows instead, gets none")
    func withoutDescription() throws {
        let service = HostSurvey.Service(name: "a.service", description: "a.service", isFailed: true, isLasting: true)
        let loaded = try loaded(InitialConfiguration(HostSurvey(services: [service]), hasDiskPlugin: false))
        #expect(loaded.configuration.servers.values.map(\.description) == [nil])
    }

    @Test("a host without anything gets an empty configuration that is valid, too")
    func empty() throws {
        let loaded = try loaded(InitialConfiguration(HostSurvey(), hasDiskPlugin: false))
        #expect(loaded.problems == [])
        #expect(loaded.configuration.acceptsAny)
    }
}
