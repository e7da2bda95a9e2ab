// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import StatusMonitor

/// `push: true`: whoever may post, posts.
///
/// Nothing runs for it.
public struct PushSource: Sendable {
    private let monitor: StatusMonitor

    /// A source that posts to `monitor`.
    public init(monitor: StatusMonitor) { self.monitor = monitor }

    /// Posts a status as its caller sent it; returns the revision of the event.
    ///
    /// - Throws: where the server is none, or takes no posts.
    public func post(_ text: StatusText, level: Level, to server: ServerName) throws(LedgerError) -> Int {
        try monitor.post(text, level: level, to: server, by: .client)
    }
}
