// SPDX-License-Identifier: Apache-2.0

public import YAML

/// The settings of a server's source; each kind in ``SourceKinds/all`` has a type.
public protocol SourceSettings: Equatable, Sendable {
    /// The key in a server's entry, and the kind's name in messages.
    static var key: String { get }
    /// How statuses are delivered; this determines which options apply.
    static var delivery: SourceDelivery { get }
    /// The keys of the mapping that ``key`` may have; the first one is the subject, if there is one.
    static var keys: [String] { get }

    /// Reads the value of ``key``; returns nil if it turns the source off.
    static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> Self?

    /// The parts of the subject, which are all settings but the permitted users, as texts that must not change between
    /// versions.
    ///
    /// A restart keeps a status only if the subject is the same.
    var subjectParts: [String] { get }
    var requirements: [SourceRequirement] { get }
    /// The time from which on an answer is slow; nil for none.
    var slow: Duration? { get }
}

extension SourceSettings {
    public static var keys: [String] { [] }
    public var requirements: [SourceRequirement] { [] }
    public var slow: Duration? { nil }
}

public enum SourceDelivery: Sendable {
    /// Programs post them.
    case posted
    /// The source follows events, and can check on request.
    case followed
    /// The source checks in each interval.
    case checked
    /// They follow from the statuses of other servers.
    case derived
}

/// Something that a source needs on this host.
public enum SourceRequirement: Equatable, Sendable {
    /// A program that the executor can run.
    case program(String)
    /// A file that the daemon can read.
    case readableFile(String)
    /// A path that the sandbox does not hide from the daemon; it need not exist.
    case visiblePath(String)
    /// The name or ID of a user who may send to the server's notify socket.
    /// A Unix socket to which the daemon can connect.
    case connectableSocket(String)
    /// The name or ID of a user.
    case user(String)
    /// The name or ID of a user who gets no rights.
    case account(String)
    /// A systemd unit, by its full name.
    case unit(String)
    /// A shared library that is loaded when it is first used, and its package in Debian.
    case library(String, package: String)
    /// A file of the kernel, and what to do if there is none.
    case kernelFile(String, advice: String)
    /// The right of the daemon to read the system's journal.
    case journal
    /// The right of the daemon to send ICMP echo requests.
    case echoRequests
}

/// The settings of a source of any kind.
public struct AnySourceSettings: Sendable {
    public let base: any SourceSettings

    public init(_ base: any SourceSettings) { self.base = base }

    public var key: String { type(of: base).key }
    public var delivery: SourceDelivery { type(of: base).delivery }

    /// A number that identifies the subject and is the same in all versions.
    ///
    /// It is a hash (FNV-1a with 64 bits), because parts of the subject may be secret. A zero byte ends each part.
    public var identity: Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for part in [key] + base.subjectParts {
            for byte in Array(part.utf8) + [0] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return Int64(bitPattern: hash)
    }
}

extension AnySourceSettings: Equatable {
    public static func == (left: AnySourceSettings, right: AnySourceSettings) -> Bool {
        func isEqual<Settings: SourceSettings>(_ settings: Settings) -> Bool { settings == right.base as? Settings }
        return isEqual(left.base)
    }
}

public enum SourceKinds {
    /// All kinds, in the order in which messages name them.
    public static let all: [any SourceSettings.Type] = [
        PushSettings.self,
        NotifySettings.self,
        UnitSettings.self,
        UnitsSettings.self,
        ExecSettings.self,
        TCPSettings.self,
        PingSettings.self,
        DNSSettings.self,
        FileSettings.self,
        DiskSettings.self,
        MemorySettings.self,
        PressureSettings.self,
        LoadSettings.self,
        ProcessSettings.self,
        HTTPSettings.self,
        CertificateSettings.self,
        GroupSettings.self,
        JournalSettings.self,
    ]

    public static let keys = all.map { $0.key }

    public static func kind(_ key: String) -> (any SourceSettings.Type)? { all.first { $0.key == key } }
}
