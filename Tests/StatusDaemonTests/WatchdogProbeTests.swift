// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel
import StatusMonitor
import Testing
import Varlink

@testable import StatusDaemon

@Suite("The watchdog's probe", .timeLimit(.minutes(5)))
@EventLoop struct WatchdogProbeTests {
    private let monitor = StatusMonitor()

    private func service(_ interfaces: [any VarlinkInterface]) -> VarlinkService {
        VarlinkService(
            info: VarlinkService.Info(vendor: "", product: "", version: "", url: ""), interfaces: [],
            unlisted: interfaces, listeners: [], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs `body` while the service runs.
    private func serving(_ service: VarlinkService, _ body: () async throws -> Void) async throws {
        // Unstructured: the service runs until the body has ended.
        let run = Task { try await service.run() }
        try await body()
        run.cancel()
        try await run.value
    }

    @Test("invariant 14: it comes through repeatedly, even if the log has rolled over in between")
    func comesThrough() async throws {
        let service = service([try ProbeInterface(monitor: monitor)])
        let probe = WatchdogProbe(through: service)
        try await serving(service) {
            for _ in 0..<10 {
                #expect(await probe.travel())
                for _ in 0..<2000 { _ = await ProgressProbe(monitor: monitor).post() }
            }
            #expect(service.connectionCount == 2)
        }
    }

    @Test("invariant 14: it does not come through if the service accepts no calls")
    func noService() async throws {
        let service = service([try ProbeInterface(monitor: monitor)])
        let probe = WatchdogProbe(through: service)
        try await serving(service) { #expect(await probe.travel()) }
        #expect(await probe.travel() == false)
    }

    /// A reply whose contents are ignored.
    private struct Anything: JSONReadable {
        init(from reader: inout JSONReader) throws(JSONError) { try reader.skip() }
    }

    @Test("no other client can call its interface, not even one with the daemon's process ID")
    func foreign() async throws {
        let service = service([try ProbeInterface(monitor: monitor)])
        let (ours, theirs) = try UnixSocket.makePair()
        service.add(theirs)
        try await serving(service) {
            let client = try VarlinkConnection(ours)
            let error = await #expect(throws: VarlinkError.self) {
                _ = try await client.call("org.statusd.probe.Post", returning: Anything.self)
            }
            #expect(error?.name == "org.varlink.service.InterfaceNotFound")
        }
    }

    /// Answers posts, and never writes to watchers.
    private final class MuteStream: VarlinkInterface {
        let real: ProbeInterface
        var stream: VarlinkStream?
        nonisolated var interfaceDescription: InterfaceDescription { real.interfaceDescription }

        init(_ real: ProbeInterface) { self.real = real }

        func handle(_ call: VarlinkCall) {
            if call.method == "Post" { return real.handle(call) }
            stream = call.stream { _ in
                false
            } onClose: { [weak self] in
                self?.stream = nil
            }
        }
    }

    @Test("invariant 14: it does not come through if posts are accepted and streams write nothing")
    func muteStream() async throws {
        let service = service([MuteStream(try ProbeInterface(monitor: monitor))])
        let probe = WatchdogProbe(through: service)
        try await serving(service) {
            let travel = Task { await probe.travel() }
            // The probe waits for the stream; only cancelling ends the wait.
            while monitor.cursor.revision == 0 { await Task.yield() }
            travel.cancel()
            #expect(await travel.value == false)
        }
    }
}
