// SPDX-License-Identifier: Apache-2.0

import Logging
import StatusConfiguration
import StatusMonitor
import Systemd
import Testing

@testable import StatusDaemon

@Suite("Reloading", .timeLimit(.minutes(1))) struct ReloaderTests {
    @Test("reloads run one after another in the order in which they were asked for")
    @EventLoop func order() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let directories = try DaemonDirectories(environment: ["RUNTIME_DIRECTORY": "/nonexistent"], isRoot: false)
        let monitor = StatusMonitor()
        let factory = SourceFactory(
            monitor: monitor, runner: SourceRunner(), directories: directories, logger: logger)
        let reloader = Reloader(
            reading: ConfigurationReading(location: .directories([])),
            registry: ServerRegistry(monitor: monitor, factory: factory, logger: logger), logger: logger)
        var ended: [String] = []
        let reload: @EventLoop @Sendable (String) async -> Void = { name in
            _ = await reloader.reload()
            ended.append(name)
        }
        var third: Task<Void, Never>?
        // Asked for while the second one waits; the loop comes to it as soon as the first one has ended.
        reloader.onReload = { _ in third = third ?? Task { @EventLoop in await reload("third") } }
        async let first: Void = reload("first")
        async let second: Void = reload("second")
        _ = await (first, second)
        await third?.value
        #expect(ended == ["first", "second", "third"])
    }
}
