// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import NotificationStreams
import StatusModel
import StatusMonitor

/// Runs one server's check; concurrent callers share one run (single-flight).
///
/// A run may serve the schedule, a change, and refreshes that clients request. It is cancelled when the last caller has
/// left. The server is shown as refreshing from a request until the run ends, or until the last caller that requested
/// it has left. Then the run continues only if another caller waits for it.
@EventLoop
final class StatusLoader {
    private let server: ServerName
    private let monitor: StatusMonitor
    private let body: @EventLoop @Sendable () async throws -> Void
    private lazy var load = SharedLoad<Void, any Error>(name: "load of \(server)") { [weak self] in
        try await self?.run()
    }
    /// The number of callers that requested a refresh.
    private var requests = 0
    private var isRunning = false
    private(set) var isClosed = false
    private var onEnd: [CheckedContinuation<Void, Never>] = []

    /// Creates a loader that runs nothing yet.
    ///
    /// - Parameter body: runs the check and posts the status; throws only `CancellationError`.
    init(of server: ServerName, monitor: StatusMonitor, _ body: @escaping @EventLoop @Sendable () async throws -> Void)
    {
        self.server = server
        self.monitor = monitor
        self.body = body
    }

    /// Whether a caller that requested a refresh is waiting.
    var isRequested: Bool { requests > 0 }

    /// Whether a caller is waiting for the current run, or for the next one if the current one was cancelled.
    var hasCallers: Bool { load.isLoading }

    /// Runs the check, or joins the current run; throws `CancellationError`.
    func callAsFunction() async throws { try await load.load() }

    /// Runs the check at a client's request.
    ///
    /// It returns when the run has ended, when the loader is closed, or when the task is cancelled.
    func refresh() async {
        guard !isClosed else { return }
        requests += 1
        // This fails if the server has been removed in the meantime, here and below.
        _ = try? monitor.beginRefresh(of: server)
        try? await self()
        requests -= 1
        if requests == 0 { endRefresh() }
    }

    /// Cancels the current run and releases its callers.
    func close() {
        endRefresh()
        isClosed = true
        load.cancel()
    }

    /// Returns when nothing is running.
    func ended() async {
        if isRunning { await withCheckedContinuation { onEnd.append($0) } }
    }

    private func run() async throws {
        // A caller may have joined between the end of a run and close().
        if isClosed { throw CancellationError() }
        isRunning = true
        defer { end() }
        // If a caller joined while a cancelled run was ending, that run may have ended the refresh.
        if isRequested { _ = try? monitor.beginRefresh(of: server) }
        try await body()
        // After a cancelled run, the callers wait for the next one, so the refresh continues.
        try Task.checkCancellation()
        endRefresh()
    }

    /// Shows the end of the refresh, except after close(), when the shown refresh may be another source's.
    private func endRefresh() {
        if !isClosed { try? monitor.endRefresh(of: server) }
    }

    private func end() {
        isRunning = false
        for continuation in onEnd { continuation.resume() }
        onEnd = []
    }
}
