// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// What is known of a server before it says anything: what its configuration says, or that somebody posted to it.
public struct ServerDefinition: Hashable, Sendable {
    /// Whether clients may post its status.
    public var takesPosts: Bool
    /// Whether its status is loaded: now, and whenever somebody asks for it.
    public var isRefreshable: Bool
    /// How long a status holds; nil: for ever.
    public var timeToLive: Duration?
    /// Its name.
    public var name: ServerName
    /// What its configuration says about it, for people.
    public var description: String?
    /// Where its statuses come from: `push`, `notify` and so on.
    public var source: String
    /// What is shown until it has a status.
    public var placeholder: String
    /// Why it cannot be followed; nil where it can.
    public var failure: String?

    /// The placeholder of servers that have none of their own.
    public static let defaultPlaceholder = "no status yet"

    /// A definition with what belongs to it.
    public init(
        name: ServerName, description: String? = nil, source: String, placeholder: String = defaultPlaceholder,
        isRefreshable: Bool = false, takesPosts: Bool = true, timeToLive: Duration? = nil, failure: String? = nil
    ) {
        self.name = name
        self.description = description
        self.source = source
        self.placeholder = placeholder
        self.isRefreshable = isRefreshable
        self.takesPosts = takesPosts
        self.timeToLive = timeToLive
        self.failure = failure
    }
}
