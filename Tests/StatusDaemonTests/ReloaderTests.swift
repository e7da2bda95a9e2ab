// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import SourceKinds
import StatusConfiguration
import StatusMonitor
import Testing

@testable import StatusDaemon

@Suite("Reloading", .timeLimit(.minutes(5))) struct ReloaderTests {
    @EventLoop private func makeReloader() throws -> Reloader {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let directories = try DaemonDirectories(environment: ["RUNTIME_DIRECTORY": "/nonexistent"], isRoot: false)
        let monitor = StatusMonitor()
        let factory = SourceFactory(
            monitor: monitor, runner: SourceRunner(), directories: directories, logger: logger)
        return Reloader(
            reading: ReadingThread(location: .directories([])),
            registry: ServerRegistry(monitor: monitor, factory: factory, logger: logger), logger: logger)
    }

    @Test("calls during a reload share the next one")
    @EventLoop func sharing() async throws {
        let reloader = try makeReloader()
        var (reloads, ended) = (0, [Int]())
        let reload: @EventLoop @Sendable (Int) async -> Void = { number in
            _ = await reloader.reload()
            ended.append(number)
        }
        reloader.onReload = { _ in reloads += 1 }
        let first = Task { @EventLoop in await reload(0) }
        while reloader.waiting == 0 { await Task.yield() }
        let service = Task { @EventLoop in await reloader.run() }
        // The reload has begun, and reads on another thread.
        while reloader.waiting > 0 { await Task.yield() }
        let late = (1...3).map { number in Task { @EventLoop in await reload(number) } }
        await first.value
        for task in late { await task.value }
        #expect(ended.first == 0)
        #expect(ended.sorted() == [0, 1, 2, 3])
        #expect(reloads == 2)
        service.cancel()
        await service.value
        let outcome = await reloader.reload()
        #expect(outcome == nil)
    }

    @Test("a caller that disconnects is released at once, and a reload without callers does not begin")
    @EventLoop func leaving() async throws {
        let reloader = try makeReloader()
        var reloads = 0
        reloader.onReload = { _ in reloads += 1 }
        let caller = Task { @EventLoop in await reloader.reload() }
        while reloader.waiting == 0 { await Task.yield() }
        caller.cancel()
        _ = await caller.value
        let service = Task { @EventLoop in await reloader.run() }
        _ = await reloader.reload()
        #expect(reloads == 1)
        service.cancel()
        await service.value
    }
}
