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
        let entries = InitialConfiguration(survey).entries
        #expect(entries.last?.name.rawValue == "failed-units" && entries.last?.settings == "units: failed")
        #expect(services.first?.description == "The \"backup.service\": a = b")
        survey = HostSurvey()
        survey.readUnits("")
        #expect(survey.services.isEmpty && survey.omissions.isEmpty)
        #expect(InitialConfiguration(survey).failedUnits == nil)
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

    @Test("the file is valid, whatever the names of units and disks")
    func valid() throws {
        let names = [
            "nginx.service", "dev-disk\\x2dby.service", "a:b.service", "true.service", "-x.service", "7.service",
            String(repeating: "n", count: 90) + ".service",
        ]
        let services = names.map {
            HostSurvey.Service(
                name: $0, description: "It's \"\($0)\" \\ #1: { x } \u{FFFF}", isFailed: false, isLasting: true)
        }
        let configuration = InitialConfiguration(
            HostSurvey(services: services + services, disks: ["/", "/srv/it's \"quoted\"", "/srv/# x"]))
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

    @Test("disks other than / must be mounted; memory, pressure and certificates are what the host has")
    func ownChecks() {
        var survey = HostSurvey(disks: ["/", "/srv/big data"], hasMemory: true, pressures: ["cpu", "io"])
        survey.secureServices = [.init(address: "127.0.0.1:443", name: "example.org")]
        #expect(
            InitialConfiguration(survey).entries.map { "\($0.name): \($0.settings)" } == [
                "disk-root: disk: /", #"disk-srv-big-data: disk: { path: "/srv/big data", mounted: true }"#,
                "memory: memory: true", "pressure-cpu: pressure: cpu", "pressure-io: pressure: io",
                #"certificate-443: certificate: { host: "127.0.0.1:443", name: example.org }"#,
            ])
    }

    @Test("services with TLS are those that listen at its ports and have a certificate that can be verified")
    func listeners() {
        let tcp = """
              sl  local_address rem_address   st
               0: 00000000:01BB 00000000:0000 0A
               1: 0100007F:0016 00000000:0000 0A
               2: 0A0200C0:03E1 00000000:0000 0A
               3: 0A0200C0:01BB 0B0200C0:9999 01
               4: 0100007F:20FB 00000000:0000 0A
            """
        let tcp6 = """
              sl  local_address                         remote_address                        st
               0: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A 00000000:00000000
               1: 00000000000000000000000001000000:22B3 00000000000000000000000000000000:0000 0A 00000000:00000000
            """
        var survey = HostSurvey()
        var asked: [String] = []
        survey.readListeners([tcp, tcp6]) { address in
            asked.append(address)
            let names = "X509v3 Subject Alternative Name: \n    DNS:*.example.org, IP Address:192.0.2.10\n"
            return switch address {
            case "127.0.0.1:443": "\(names)    DNS:example.org\nVerify return code: 0 (ok)\n"
            case "192.0.2.10:993": "\(names)Verify return code: 0 (ok)\n"
            case "127.0.0.1:8443": "\(names)Verify return code: 18 (self-signed certificate)\n"
            default: ""
            }
        }
        #expect(asked == ["127.0.0.1:443", "192.0.2.10:993", "127.0.0.1:8443", "[::1]:8883"])
        #expect(
            survey.secureServices == [
                .init(address: "127.0.0.1:443", name: "example.org"),
                .init(address: "192.0.2.10:993", name: "www.example.org"),
            ])
        #expect(
            survey.omissions == [
                .init(reason: "TLS services whose certificates are not trusted", names: ["127.0.0.1:8443"])
            ])
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
                HostSurvey(services: [service]), selects: false, accepts: false))
        #expect(loaded.configuration.select == nil)
        #expect(!loaded.configuration.acceptsAny)
        #expect(loaded.configuration.servers.count == 1)
    }

    @Test("a unit without a description, whose name systemd shows instead, gets none")
    func withoutDescription() throws {
        let service = HostSurvey.Service(name: "a.service", description: "a.service", isFailed: true, isLasting: true)
        let loaded = try loaded(InitialConfiguration(HostSurvey(services: [service])))
        #expect(loaded.configuration.servers.values.map(\.description) == [nil])
    }

    @Test("a host without anything gets an empty configuration that is valid, too")
    func empty() throws {
        let loaded = try loaded(InitialConfiguration(HostSurvey()))
        #expect(loaded.problems == [])
        #expect(loaded.configuration.acceptsAny)
    }
}
