// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// What a host has that is worth following.
struct HostSurvey {
    /// A service of systemd, as `systemctl show` describes it.
    struct Service: Equatable {
        var name: String
        var description: String
        var isFailed: Bool
        /// Whether it is enabled and runs all the time.
        var isLasting: Bool
        /// Whether a timer starts it.
        var hasTimer = false
    }

    /// What is not worth following, and why.
    struct Omission: Equatable {
        var reason: String
        var names: [String]
    }

    /// No file has more than this many services, because a longer list is not a first impression.
    static let mostServices = 30

    /// Parts of the system that say little about the host, unless they fail.
    private static let background = [
        "systemd-", "getty@", "serial-getty@", "console-getty", "container-getty@", "user@", "user-runtime-dir@",
        "dbus", "polkit", "udisks2", "accounts-daemon", "rtkit-daemon", "upower", "colord", "packagekit",
        "ModemManager", "wpa_supplicant", "avahi-daemon", "switcheroo-control", "low-memory-monitor",
        "power-profiles-daemon", "bluetooth", "apparmor", "plymouth", "emergency", "rescue", "session-", "init.scope",
    ]

    /// The services that are most often a host's purpose; they come first.
    private static let foremost = [
        "nginx", "apache2", "httpd", "caddy", "haproxy", "postgresql", "mariadb", "mysql", "redis", "valkey", "mongod",
        "docker", "podman", "containerd", "k3s", "kubelet", "postfix", "exim", "dovecot", "named", "unbound", "smbd",
        "nfs-server", "libvirtd", "ssh",
    ]

    /// The services, the most important first: failed ones, then what the host is for.
    var services: [Service] = []
    /// Whether systemd has told its units.
    var hasUnits = false
    /// The mount points of the disks.
    var disks: [String] = []
    /// The services with TLS.
    var secureServices: [SecureService] = []
    /// Whether the kernel says how much memory is available.
    var hasMemory = false
    /// The resources for which the kernel measures pressure (PSI).
    var pressures: [String] = []
    /// What was found and left out.
    var omissions: [Omission] = []

    // MARK: Services

    /// The properties that ``readUnits(_:)`` reads; the last one is what a timer starts.
    static let properties = "Id,Description,ActiveState,Type,UnitFileState,Unit"

    /// Reads services and timers in the output of `systemctl show`: blocks of `PROPERTY=VALUE` with empty lines between
    /// them.
    mutating func readUnits(_ output: String) {
        var found: [Service] = []
        var (background, disabled, idle, atBoot) = ([String](), [String](), [String](), [String]())
        let units = Self.units(output)
        hasUnits = !units.isEmpty
        let timed = Set(
            units.filter { $0["Id"]?.hasSuffix(".timer") == true && $0["ActiveState"] == "active" }
                .compactMap { $0["Unit"] })
        var seen: Set<String> = []
        for unit in units {
            guard let service = Self.service(unit, timed), seen.insert(service.name).inserted else { continue }
            let isBackground = Self.background.contains { service.name.hasPrefix($0) }
            if service.isFailed || !isBackground && (service.isLasting || service.hasTimer) {
                found.append(service)
            } else if isBackground, service.isLasting || service.hasTimer {
                background.append(service.name)
            } else if isBackground {
                continue
            } else if Self.isEnabled(unit), unit["Type"] == "oneshot" {
                atBoot.append(service.name)
            } else if Self.isEnabled(unit) {
                idle.append(service.name)
            } else if unit["ActiveState"] == "active", unit["Type"] != "oneshot" {
                disabled.append(service.name)
            }
        }
        idle += units.filter { unit in
            unit["Id"]?.hasSuffix(".timer") == true && Self.isEnabled(unit) && unit["ActiveState"] != "active"
        }.compactMap { $0["Id"].map { String($0) } }
        found.sort(by: Self.isBefore)
        services = Array(found.prefix(Self.mostServices))
        omit("parts of the system", background)
        omit("services that are not enabled", disabled)
        omit("enabled services and timers that are not running", idle)
        omit("oneshots that run only at boot", atBoot)
        omit("services beyond the first \(Self.mostServices)", found.dropFirst(Self.mostServices).map(\.name))
    }

    mutating func omit(_ reason: String, _ names: [String]) {
        if !names.isEmpty { omissions.append(Omission(reason: reason, names: names)) }
    }

    private static func units(_ output: String) -> [[Substring: Substring]] {
        output.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "").map { block in
            var values: [Substring: Substring] = [:]
            for line in block {
                let name = line.prefix { $0 != "=" }
                values[name] = line.dropFirst(name.count + 1)
            }
            return values
        }
    }

    /// A service that may be worth following; nil for other units.
    private static func service(_ values: [Substring: Substring], _ timed: Set<Substring>) -> Service? {
        guard let name = values["Id"], name.hasSuffix(".service"), !name.hasPrefix("statusd") else { return nil }
        return Service(
            name: String(name), description: String(values["Description"] ?? ""),
            isFailed: values["ActiveState"] == "failed",
            isLasting: values["ActiveState"] == "active" && values["Type"] != "oneshot" && isEnabled(values),
            hasTimer: timed.contains(name))
    }

    private static func isEnabled(_ values: [Substring: Substring]) -> Bool {
        ["enabled", "enabled-runtime", "generated", "linked"].contains(values["UnitFileState"] ?? "")
    }

    private static func isBefore(_ left: Service, _ right: Service) -> Bool {
        if left.isFailed != right.isFailed { return left.isFailed }
        if left.hasTimer != right.hasTimer { return right.hasTimer }
        let places = [left, right].map { service in
            foremost.firstIndex { service.name.hasPrefix($0) } ?? foremost.count
        }
        return places[0] == places[1] ? left.name < right.name : places[0] < places[1]
    }

    // MARK: Disks

    /// The types of file systems to follow; in fstab(5), `auto` is one of a disk.
    private static let fileSystems = ["auto", "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs"]
    private static let remoteFileSystems = ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "ceph", "glusterfs", "9p"]

    /// Reads the mount points of disks in `/proc/self/mounts` (proc(5)): of each disk the first one that the daemon
    /// sees, without boot partitions; and those of fstab(5) that are not mounted now but must be.
    ///
    /// File systems of other hosts are left out, because checking one may never end.
    ///
    /// - Parameter isVisible: whether the daemon sees a mount point.
    mutating func readDisks(_ mounts: String, fstab: String = "", isVisible: (String) -> Bool = { _ in true }) {
        let mounted = Self.entries(mounts)
        let others = Self.entries(fstab).filter { entry in !mounted.contains { $0.place == entry.place } }
        let expected = others.filter { entry in !entry.options.contains { ["noauto", "nofail"].contains($0) } }
        var seen: Set<Substring> = []
        disks = (mounted + expected).filter { entry in
            // A path with characters that cannot be written would become another path.
            (entry.place == "/" || Self.fileSystems.contains(entry.type)) && !entry.place.hasPrefix("/boot")
                && !entry.place.hasPrefix("/etc/")
                && entry.place.unicodeScalars.allSatisfy(InitialConfiguration.isWritable) && isVisible(entry.place)
                && seen.insert(entry.device).inserted
        }.map(\.place).sorted()
        func names(_ entries: [(device: Substring, place: String, type: String, options: [Substring])]) -> [String] {
            Set(entries.map { VisibleText.escape($0.place) }).sorted()
        }
        let remote = (mounted + others).filter { Self.remoteFileSystems.contains($0.type) }
        omit("file systems of other hosts", names(remote))
        // Of what is mounted, only what fstab(5) or a person mounted: a container binds many places of its disk.
        omit(
            "other file systems",
            names(
                (mounted.filter { !Self.fileSystems.contains($0.type) } + others).filter { entry in
                    Self.isDisk(entry.device) && entry.place.hasPrefix("/") && entry.type != "squashfs"
                        && !Self.remoteFileSystems.contains(entry.type) && !disks.contains(entry.place)
                }))
    }

    /// Whether the first field of an entry names a disk.
    private static func isDisk(_ device: Substring) -> Bool {
        ["/dev/", "UUID=", "LABEL=", "PARTUUID=", "PARTLABEL="].contains { device.hasPrefix($0) }
    }

    /// The entries of a table of file systems, as in fstab(5).
    private static func entries(
        _ table: String
    ) -> [(device: Substring, place: String, type: String, options: [Substring])] {
        table.split(separator: "\n").compactMap { line in
            let fields = line.split { $0 == " " || $0 == "\t" }
            guard fields.count > 3, !fields[0].hasPrefix("#") else { return nil }
            var place = unescaped(fields[1])
            while place.count > 1, place.hasSuffix("/") { place.removeLast() }
            return (fields[0], place, String(fields[2]), fields[3].split(separator: ","))
        }
    }

    /// A field in which blanks and backslashes are octal.
    private static func unescaped(_ field: Substring) -> String {
        var text = ""
        var rest = field
        while let character = rest.popFirst() {
            guard character == "\\", let code = UInt8(rest.prefix(3), radix: 8) else {
                text.append(character)
                continue
            }
            text.unicodeScalars.append(Unicode.Scalar(code))
            rest = rest.dropFirst(3)
        }
        return text
    }
}
