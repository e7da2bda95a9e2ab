// SPDX-License-Identifier: Apache-2.0

public import YAML

/// What a server's entry says of its source: one type for each kind.
///
/// ``SourceKinds/all`` lists the kinds.
public protocol SourceSettings: Equatable, Sendable {
    /// The key in a server's entry, which is also the kind's name in messages.
    static var key: String { get }
    /// How statuses come in, which decides which other keys mean something.
    static var delivery: SourceDelivery { get }

    /// Reads the value of ``key``; nil if it switches the source off.
    static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> Self?

    /// The same settings without what only says who may report.
    ///
    /// A status of another subject says nothing about this one.
    var subject: Self { get }
    /// What the source needs from this host.
    var requirements: [SourceRequirement] { get }
}

extension SourceSettings {
    public var subject: Self { self }
    public var requirements: [SourceRequirement] { [] }
}

/// How a source's statuses come in.
public enum SourceDelivery: Sendable {
    /// Programs post them.
    case posted
    /// The source follows events, and can look when somebody asks.
    case followed
    /// The source loads them again and again, as the schedule says.
    case checked
}

/// What a source needs from this host.
public enum SourceRequirement: Equatable, Sendable {
    /// A program that the executor can run.
    case program(String)
    /// A file that the daemon can read.
    case readableFile(String)
    /// A path at which the daemon sees what others see, whether or not something is there.
    case visiblePath(String)
    /// A user's name or number.
    case user(String)
}

/// The settings of a source of any kind.
public struct AnySourceSettings: Sendable {
    /// The settings themselves.
    public let base: any SourceSettings

    /// Settings of a kind.
    public init(_ base: any SourceSettings) { self.base = base }

    /// The kind's name, which is its key in the configuration.
    public var key: String { type(of: base).key }
    /// How the statuses come in.
    public var delivery: SourceDelivery { type(of: base).delivery }
    /// The same settings without what only says who may report.
    public var subject: AnySourceSettings { AnySourceSettings(base.subject) }

}

extension AnySourceSettings: Equatable {
    public static func == (left: AnySourceSettings, right: AnySourceSettings) -> Bool {
        func isEqual<Settings: SourceSettings>(_ settings: Settings) -> Bool { settings == right.base as? Settings }
        return isEqual(left.base)
    }
}
