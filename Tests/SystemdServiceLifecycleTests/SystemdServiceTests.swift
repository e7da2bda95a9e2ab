// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle

import EventLoopIO
import Glibc
import Logging
import ServiceLifecycle
import SystemdServiceLifecycle
import Testing

/// A service manager's socket, which reads the notifications that it gets.
private struct FakeManager {
    private let descriptor: Int32
    private let path: String

    /// Listens at a path, and sets `NOTIFY_SOCKET` to it.
    init() {
        // If a notification never arrives, this ends the process, and so fails the test.
        alarm(50)
        path = "/tmp/statusd-notify-\(getpid())"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        precondition(result == 0)
        setenv("NOTIFY_SOCKET", path, 1)
    }

    /// Waits for the next message on a separate thread, and returns its first line.
    func next() async -> String {
        let descriptor = descriptor
        return await BlockingThread.run {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            let text = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
            return String(text.prefix { $0 != "\n" })
        }
    }

    func close() {
        _ = Glibc.close(descriptor)
        unlink(path)
    }
}

/// Each test runs in its own process, because the manager's address is in the environment.
@Suite("A service under systemd", .timeLimit(.minutes(5))) struct SystemdServiceTests {
    private static func run(
        _ systemd: SystemdService, _ body: (ServiceGroup) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: [systemd], logger: logger)
        async let run: Void = group.run()
        try await body(group)
        try await run
    }

    private static func service(
        watchdogInterval: Duration? = nil, isAlive: @escaping @Sendable () async -> Bool = { true },
        waitUntilUp: @escaping @Sendable () async throws -> Void = {}
    ) -> SystemdService {
        SystemdService(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, watchdogInterval: watchdogInterval,
            isAlive: isAlive, waitUntilUp: waitUntilUp)
    }

    @Test("reports that it is up, reloads and stops, in this order")
    func life() async {
        await #expect(processExitsWith: .success) {
            let manager = FakeManager()
            let systemd = SystemdServiceTests.service()
            try await SystemdServiceTests.run(systemd) { group in
                #expect(await manager.next() == "READY=1")
                await systemd.reload { #expect(await manager.next() == "RELOADING=1") }
                #expect(await manager.next() == "READY=1")
                await group.triggerGracefulShutdown()
                #expect(await manager.next() == "STOPPING=1")
            }
            manager.close()
        }
    }

    @Test("never reports that it is up if its group is stopped before that")
    func notUp() async {
        await #expect(processExitsWith: .success) {
            let manager = FakeManager()
            let (began, begin) = AsyncStream.makeStream(of: Void.self)
            let systemd = SystemdServiceTests.service(waitUntilUp: {
                begin.yield()
                try? await gracefulShutdown()
            })
            try await SystemdServiceTests.run(systemd) { group in
                for await _ in began { break }
                await group.triggerGracefulShutdown()
                #expect(await manager.next() == "STOPPING=1")
            }
            manager.close()
        }
    }

    @Test("sends keep-alives only after its probe has succeeded")
    func watchdog() async {
        await #expect(processExitsWith: .success) {
            let manager = FakeManager()
            let (probes, probe) = AsyncStream.makeStream(of: Void.self)
            let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
            let systemd = SystemdServiceTests.service(
                watchdogInterval: .milliseconds(2),
                isAlive: {
                    probe.yield()
                    for await isAlive in answers { return isAlive }
                    return false
                })
            try await SystemdServiceTests.run(systemd) { group in
                #expect(await manager.next() == "READY=1")
                answer.yield(true)
                #expect(await manager.next() == "WATCHDOG=1")
                for _ in 0..<3 { answer.yield(false) }
                // The fourth probe has been answered, and the fifth is waiting.
                var count = 0
                for await _ in probes {
                    count += 1
                    if count == 5 { break }
                }
                await group.triggerGracefulShutdown()
                #expect(await manager.next() == "STOPPING=1")
            }
            manager.close()
        }
    }
}

#endif
