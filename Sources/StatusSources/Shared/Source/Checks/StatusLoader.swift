// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import NotificationStreams
import StatusModel
import StatusMonitor

/// Loads one server's status; concurrent callers share one load (single-flight).
///
/// A load runs for the source's schedule, for a change that the source noticed, for refreshes that clients request, or
/// for several of these. It is cancelled when the last of these callers has left. The server is shown as refreshing
/// while a requested load runs: until it ends, or until the last caller that requested it leaves. Then the load goes on
/// only if another caller waits for it.
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
    private var isClosed = false
    private var onEnd: [CheckedContinuation<Void, Never>] = []

    /// Creates a loader that has not loaded anything yet.
    ///
    /// - Parameters:
    ///   - server: whose status.
    ///   - monitor: where the beginning and the end of a refresh are noted.
    ///   - body: loads the status and posts it; throws nothing but `CancellationError`.
    init(of server: ServerName, monitor: StatusMonitor, _ body: @escaping @EventLoop @Sendable () async throws -> Void)
    {
        self.server = server
        self.monitor = monitor
        self.body = body
    }

    /// Whether a caller that requested a refresh is waiting.
    var isRequested: Bool { requests > 0 }

    /// Whether a caller is waiting: for the load that runs, or if that was cancelled, for the next.
    var hasCallers: Bool { load.isLoading }

    /// Loads the status, or joins the load that runs; throws `CancellationError`.
    func callAsFunction() async throws { try await load.load() }

    /// Loads the status at a client's request; returns when the load has ended, when it is closed, or when the task is
    /// cancelled.
    func refresh() async {
        guard !isClosed else { return }
        requests += 1
        // It fails if the server was removed meanwhile, here and below.
        _ = try? monitor.beginRefresh(of: server)
        try? await self()
        requests -= 1
        if requests == 0 { endRefresh() }
    }

    /// Cancels the load that runs, and releases its callers.
    func close() {
        endRefresh()
        isClosed = true
        load.cancel()
    }

    /// Returns when no load is running.
    func ended() async {
        if isRunning { await withCheckedContinuation { onEnd.append($0) } }
    }

    private func run() async throws {
        // A caller may have joined between the end of a load and close().
        if isClosed { throw CancellationError() }
        isRunning = true
        defer { end() }
        // A caller that joined while a cancelled load was ending may have seen the end of that one.
        if isRequested { _ = try? monitor.beginRefresh(of: server) }
        try await body()
        // After a cancelled load, the callers wait for the next one, so the refresh goes on.
        try Task.checkCancellation()
        endRefresh()
    }

    /// Notes the end of the refresh; does nothing after close(), when the refresh that is shown may be that of another
    /// source.
    private func endRefresh() {
        if !isClosed { try? monitor.endRefresh(of: server) }
    }

    private func end() {
        isRunning = false
        for continuation in onEnd { continuation.resume() }
        onEnd = []
    }
}
