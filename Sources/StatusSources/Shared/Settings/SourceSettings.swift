// SPDX-License-Identifier: Apache-2.0

import StatusModel
public import YAML

/// The settings of a server's source: one type for each kind.
///
/// ``SourceKinds/all`` lists the kinds.
public protocol SourceSettings: Equatable, Sendable {
    /// The key in a server's entry, and the kind's name in messages.
    static var key: String { get }
    /// The delivery of statuses, which decides which options apply.
    static var delivery: SourceDelivery { get }

    /// Reads the value of ``key``; returns nil if it turns the source off.
    static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> Self?

    /// These settings without the permitted users: two settings with the same subject describe the same thing.
    var subject: Self { get }
    /// The parts of the subject, as texts that stay the same from version to version: a restart keeps the status of the
    /// same subject.
    var subjectParts: [String] { get }
    /// The requirements of the source on this host.
    var requirements: [SourceRequirement] { get }
}

extension SourceSettings {
    public var subject: Self { self }
    public var requirements: [SourceRequirement] { [] }
}

/// How the statuses of a source come in.
public enum SourceDelivery: Sendable {
    /// Programs post them.
    case posted
    /// The source follows events, and can look on request.
    case followed
    /// The source loads them in each interval.
    case checked
}

/// Something that a source needs on this host.
public enum SourceRequirement: Equatable, Sendable {
    /// A program that the executor can run.
    case program(String)
    /// A file that the daemon can read.
    case readableFile(String)
    /// A path that the sandbox does not hide from the daemon, whether it exists or not.
    case visiblePath(String)
    /// A user's name or number.
    case user(String)
    /// A unit of the system's service manager, by its full name.
    case unit(String)
}

/// The settings of a source of any kind.
public struct AnySourceSettings: Sendable {
    /// The settings themselves.
    public let base: any SourceSettings

    /// Wraps settings of a kind.
    public init(_ base: any SourceSettings) { self.base = base }

    /// The kind's key in the configuration.
    public var key: String { type(of: base).key }
    /// How statuses come in.
    public var delivery: SourceDelivery { type(of: base).delivery }
    /// The settings without the permitted users (``SourceSettings/subject``).
    public var subject: AnySourceSettings { AnySourceSettings(base.subject) }

    /// A number for the subject, which stays the same from version to version: a hash, because parts of a subject may
    /// be secret.
    public var identity: Int64 {
        var hash = StableHash()
        for part in [key] + base.subjectParts { hash.combine(part) }
        return Int64(bitPattern: hash.value)
    }
}

extension AnySourceSettings: Equatable {
    public static func == (left: AnySourceSettings, right: AnySourceSettings) -> Bool {
        func isEqual<Settings: SourceSettings>(_ settings: Settings) -> Bool { settings == right.base as? Settings }
        return isEqual(left.base)
    }
}
