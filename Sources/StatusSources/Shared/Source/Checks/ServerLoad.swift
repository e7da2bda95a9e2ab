// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import NotificationStreams
import StatusModel
import StatusMonitor

/// The load of one server's status: never two at once, the first exactly once, and shared by all who ask for it.
///
/// What somebody asks for is a refresh, which everybody sees as long as it runs: it ends with the load, or when the last who asked
/// has left. Then the load goes on only where the server's own schedule wants it, too.
@EventLoop
final class ServerLoad {
    private let server: ServerName
    private let monitor: StatusMonitor
    private let load: @EventLoop @Sendable () async throws -> Void
    private lazy var first = SharedLoad<Void, any Error>(name: "first load of \(server)", keepsValue: true) {
        [weak self] in try await self?.run()
    }
    private lazy var again = SharedLoad<Void, any Error>(name: "load of \(server)") {
        [weak self] in try await self?.run()
    }
    /// How many wait because they asked for it.
    private var askers = 0
    private var isRunning = false
    private var isClosed = false
    private var onEnd: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - server: whose status.
    ///   - monitor: where refreshes are told.
    ///   - load: loads the status and posts it; throws `CancellationError` only, and posts nothing then.
    init(of server: ServerName, monitor: StatusMonitor, load: @escaping @EventLoop @Sendable () async throws -> Void) {
        self.server = server
        self.monitor = monitor
        self.load = load
    }

    /// Whether somebody waits for it.
    var isWanted: Bool { askers > 0 }

    /// Whether somebody waits for a load, whatever for: for the one that runs, or if that was cancelled, for the next.
    var hasCallers: Bool { first.callers + again.callers > 0 }

    /// Loads, or joins the load that runs; throws `CancellationError`.
    func callAsFunction() async throws {
        if first.value == nil { try await first.load() } else { try await again.load() }
    }

    /// Loads because somebody asks for it; returns when the load has ended, when it is closed, or when the task is cancelled.
    func refresh() async {
        guard !isClosed else { return }
        askers += 1
        // A server that was removed meanwhile has nobody to show it, here and below.
        _ = try? monitor.beginRefresh(of: server)
        try? await self()
        askers -= 1
        if askers == 0 { endRefresh() }
    }

    /// Lets all who wait go, and cancels the load that runs.
    func close() {
        endRefresh()
        isClosed = true
        first.cancel()
        again.cancel()
    }

    /// Returns when no load runs any more.
    func ended() async {
        if isRunning { await withCheckedContinuation { onEnd.append($0) } }
    }

    private func run() async throws {
        // Who asked just before the end joined just behind it.
        if isClosed { throw CancellationError() }
        isRunning = true
        defer { end() }
        // Who asked while a cancelled load was ending may have been told the end of that one.
        if isWanted { _ = try? monitor.beginRefresh(of: server) }
        try await load()
        // What was cancelled has not come to an end: who asks meanwhile waits for the load after it.
        try Task.checkCancellation()
        endRefresh()
    }

    /// What is closed has been told as ended, and another load may be what is to be seen now.
    private func endRefresh() {
        if !isClosed { try? monitor.endRefresh(of: server) }
    }

    private func end() {
        isRunning = false
        for continuation in onEnd { continuation.resume() }
        onEnd = []
    }
}
