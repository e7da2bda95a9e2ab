// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// The properties of a server that do not depend on its status; they come from its configuration or from a post.
public struct ServerDefinition: Hashable, Sendable {
    /// Whether clients may post its status.
    public var takesPosts: Bool
    /// Whether its status is loaded, at once and on request.
    public var isRefreshable: Bool
    /// The time to live of a status; nil if it never becomes stale.
    public var timeToLive: Duration?
    /// The longest time between two reports of its source; nil if only its time to live limits that.
    public var interval: Duration?
    public var name: ServerName
    /// The description in the configuration, for people.
    public var description: String?
    /// The server without which it cannot be reached.
    public var parent: ServerName?
    /// The group that shows it, unless it is a member of a configured one.
    public var group: ServerName?
    /// The kind of its source: `push`, `notify` and so on.
    public var source: String
    /// The text to show until it has a status.
    public var placeholder: String
    /// Why it cannot be followed; nil if it can.
    public var failure: String?

    /// The placeholder of servers without one of their own.
    public static let defaultPlaceholder = "no status yet"

    /// Creates a definition.
    public init(
        name: ServerName, description: String? = nil, parent: ServerName? = nil, source: String,
        placeholder: String = defaultPlaceholder, isRefreshable: Bool = false, takesPosts: Bool = true,
        timeToLive: Duration? = nil, interval: Duration? = nil, group: ServerName? = nil,
        failure: String? = nil
    ) {
        self.name = name
        self.description = description
        self.parent = parent
        self.group = group
        self.source = source
        self.placeholder = placeholder
        self.isRefreshable = isRefreshable
        self.takesPosts = takesPosts
        self.timeToLive = timeToLive
        self.interval = interval
        self.failure = failure
    }
}
