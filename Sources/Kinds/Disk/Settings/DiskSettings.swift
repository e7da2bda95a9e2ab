// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `disk: /var`, `disk: { path: /var, warning: 85%, inodes: 90%, mounted: true }`: the file system that has a path.
public struct DiskSettings: SourceSettings {
    public static let key = "disk"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["path", "warning", "critical", "inodes", "mounted"]

    /// An absolute path on the file system.
    public var path: String
    /// The percentages of the space in use.
    public var space = Thresholds(warning: 85, critical: 95)
    /// The percentage of the inodes in use from which on the level is warning.
    public var inodes = 90.0
    /// Whether a file system must be mounted at the path itself; nil if fstab(5) decides.
    public var mounted: Bool?

    public init(path: String) { self.path = path }

    public var subjectParts: [String] { [path] + space.subjectParts + ["\(inodes)", String(mounted ?? false)] }
    public var requirements: [SourceRequirement] {
        Self.shared.contains(path) || isInHome ? [] : [.visiblePath(path)]
    }

    /// Whether the daemon's sandbox hides the path, and that of plugins does not (`ProtectHome=`).
    public var isInHome: Bool { ["/home/", "/root/"].contains { (path + "/").hasPrefix($0) } }

    /// The folders of which the service has its own copies (`PrivateTmp=`), on the same file systems as the host's.
    public static let shared: Set = ["/tmp", "/var/tmp"]

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> DiskSettings? {
        if node.mapping == nil { return DiskSettings(path: try path(node, of: key, reader.nodes)) }
        var settings = DiskSettings(path: "")
        try reader.readMapping(
            node, of: key, keys: keys, example: "/var"
        ) { key, value, reader throws(Problem) in
            switch key {
            case "path": settings.path = try path(value, of: key, reader.nodes)
            case "inodes": settings.inodes = try reader.nodes.percentage(value, of: key, in: 1...100)
            case "mounted": settings.mounted = try reader.nodes.flag(value, of: key)
            default: try settings.space.readPercentage(key, value, reader.nodes)
            }
        }
        try settings.space.checkOrder(at: node, reader.nodes)
        return settings
    }

    private static func path(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "an absolute path on the file system, such as / or /var"
        let path = try nodes.string(node, of: key, what)
        // PATH_MAX includes the terminating zero.
        guard path.hasPrefix("/"), path.utf8.count < 4096 else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)")
        }
        if path.hasPrefix("/dev/"), !(path + "/").hasPrefix("/dev/shm/") {
            throw nodes.problem(at: node, "“\(key)” must be \(what), and not its device")
        }
        return path
    }
}
