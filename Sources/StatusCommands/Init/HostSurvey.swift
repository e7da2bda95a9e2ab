// SPDX-License-Identifier: Apache-2.0

/// What a host has that is worth following.
struct HostSurvey {
    /// A service of systemd, as `systemctl show` describes it.
    struct Service: Equatable {
        var name: String
        var description: String
        var isFailed: Bool
        /// Whether it is enabled and runs all the time.
        var isLasting: Bool
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
    /// The mount points of the disks.
    var disks: [String] = []

    // MARK: Services

    /// The properties that ``services(_:)`` reads.
    static let properties = "Id,Description,ActiveState,Type,UnitFileState"

    /// The services in the output of `systemctl show`: blocks of `PROPERTY=VALUE` with empty lines between them.
    static func services(_ output: String) -> [Service] {
        var services: [Service] = []
        var seen: Set<String> = []
        for block in output.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "") {
            var values: [Substring: Substring] = [:]
            for line in block {
                let name = line.prefix { $0 != "=" }
                values[name] = line.dropFirst(name.count + 1)
            }
            guard let service = service(values), seen.insert(service.name).inserted else { continue }
            services.append(service)
        }
        return Array(services.sorted(by: isBefore).prefix(mostServices))
    }

    /// A service that is worth following; nil for others.
    private static func service(_ values: [Substring: Substring]) -> Service? {
        guard let name = values["Id"].map(String.init), name.hasSuffix(".service"), !name.hasPrefix("statusd") else {
            return nil
        }
        let isEnabled = ["enabled", "enabled-runtime", "generated", "linked"].contains(values["UnitFileState"] ?? "")
        let service = Service(
            name: name, description: String(values["Description"] ?? ""), isFailed: values["ActiveState"] == "failed",
            isLasting: values["ActiveState"] == "active" && values["Type"] != "oneshot" && isEnabled)
        let isBackground = background.contains { name.hasPrefix($0) }
        return service.isFailed || service.isLasting && !isBackground ? service : nil
    }

    private static func isBefore(_ left: Service, _ right: Service) -> Bool {
        if left.isFailed != right.isFailed { return left.isFailed }
        let places = [left, right].map { service in
            foremost.firstIndex { service.name.hasPrefix($0) } ?? foremost.count
        }
        return places[0] == places[1] ? left.name < right.name : places[0] < places[1]
    }

    // MARK: Disks

    private static let fileSystems = ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs"]

    /// The mount points of disks in `/proc/self/mounts` (proc(5)): of each disk the first one that plugins see, without
    /// boot partitions; and those of fstab(5) that are not mounted now but must be.
    ///
    /// File systems of other hosts are left out, because checking one may never end.
    ///
    /// - Parameter isVisible: whether plugins see a mount point.
    static func disks(_ mounts: String, fstab: String = "", isVisible: (String) -> Bool = { _ in true }) -> [String] {
        let mounted = entries(mounts)
        let expected = entries(fstab).filter { entry in
            !mounted.contains { $0.place == entry.place }
                && !entry.options.contains { ["noauto", "nofail"].contains($0) }
        }
        var seen: Set<Substring> = []
        return (mounted + expected).filter { entry in
            // A path with characters that cannot be written would become another path.
            (entry.place == "/" || fileSystems.contains(entry.type)) && !entry.place.hasPrefix("/boot")
                && !entry.place.hasPrefix("/etc/")
                && entry.place.unicodeScalars.allSatisfy(InitialConfiguration.isWritable) && isVisible(entry.place)
                && seen.insert(entry.device).inserted
        }.map(\.place).sorted()
    }

    /// The entries of a table of file systems, as in fstab(5).
    private static func entries(
        _ table: String
    ) -> [(device: Substring, place: String, type: String, options: [Substring])] {
        table.split(separator: "\n").compactMap { line in
            let fields = line.split { $0 == " " || $0 == "\t" }
            guard fields.count > 3, !fields[0].hasPrefix("#") else { return nil }
            return (fields[0], unescaped(fields[1]), String(fields[2]), fields[3].split(separator: ","))
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
