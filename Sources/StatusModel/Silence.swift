// SPDX-License-Identifier: Apache-2.0

/// A time in which nobody is told of a server's problems; it always ends.
///
/// It is a class, so that the states of the many servers without one stay small.
public final class Silence: Sendable {
    /// When it began.
    public let since: Timestamp
    /// When it ends; nil for when the server is ok.
    public let until: Timestamp?
    /// The ID of the user who began it.
    public let user: UInt32?
    public let reason: String?

    public init(since: Timestamp, until: Timestamp? = nil, user: UInt32? = nil, reason: String? = nil) {
        self.since = since
        self.until = until
        self.user = user
        self.reason = reason
    }

    /// When it ends, and why it began: `until 2026-11-28 03:00 UTC: new disk`, or `until it is ok`.
    public var summary: String {
        let end = until.map { "\($0.description.prefix(16).split(separator: "T").joined(separator: " ")) UTC" }
        return "until \(end ?? "it is ok")" + (reason.map { ": \($0)" } ?? "")
    }

    /// The longest reason in bytes.
    public static let longestReason = 256
    /// The longest silence.
    public static let longest = Duration.seconds(366 * 86_400)
}

extension Silence: Hashable {
    public static func == (left: Silence, right: Silence) -> Bool {
        (left.since, left.until, left.user, left.reason) == (right.since, right.until, right.user, right.reason)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(since) }
}
