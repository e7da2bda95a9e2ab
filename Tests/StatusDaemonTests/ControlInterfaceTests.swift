// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import FoundationEssentials
import Glibc
import Logging
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import Testing
import Varlink

@testable import StatusDaemon

@Suite("The control interface", .timeLimit(.minutes(5)))
@EventLoop struct ControlInterfaceTests {
    private let fixture: DaemonFixture

    init() throws { fixture = try DaemonFixture() }

    /// Runs `body` with a client of a service with this interface.
    ///
    /// - Parameter isOrdinary: whether the client counts as an ordinary user, as over an internet socket.
    private func serving(
        isOrdinary: Bool = false, _ body: (VarlinkConnection) async throws -> Void
    ) async throws {
        let (monitor, registry, logger) = (fixture.monitor, fixture.registry, fixture.logger)
        let reloader = Reloader(
            reading: ReadingThread(location: .directories([])), registry: registry, logger: logger)
        let watcher = SelectionWatcher(monitor: monitor, reporters: [], isolatedTo: EventLoop.shared)
        let control = try ControlInterface(
            monitor: monitor, watcher: watcher, registry: registry, reloader: reloader,
            reporter: try ServiceManagerReporter { _ in }, state: KeptState(nil, OpenedState()),
            dispatcher: try AlertDispatcher(registry: registry, told: [:], executor: nil, logger: logger))
        let listener = isOrdinary ? try await VarlinkAddress.tcp(host: "127.0.0.1", port: 0).listen() : nil
        let service = VarlinkService(
            info: VarlinkService.Info(vendor: "", product: "", version: "", url: ""), interfaces: [control],
            listeners: listener.map { [$0] } ?? [], logger: logger)
        // Unstructured: both run until the body has ended.
        let tasks = [Task { try await service.run() }, Task { await watcher.run() }]
        if let listener {
            // The limit must not decide: all tests run at once, also under the sanitizers.
            let address = VarlinkAddress.tcp(host: "127.0.0.1", port: port(of: listener))
            try await body(.connect(to: address, timeout: .seconds(600)))
        } else {
            let (ours, theirs) = try UnixSocket.makePair()
            service.add(theirs)
            try await body(VarlinkConnection(ours))
        }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
    }

    private func error(
        _ client: VarlinkConnection, _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) async -> VarlinkError? {
        do {
            _ = try await client.call("org.statusd.monitor." + method, parameters, returning: Anything.self)
            return nil
        } catch {
            return error as? VarlinkError
        }
    }

    /// The port on which an internet socket listens.
    private func port(of listener: OwnedDescriptor) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &address) {
            getsockname(listener.rawValue, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, &length)
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// A reply whose contents are ignored.
    private struct Anything: JSONReadable {
        init(from reader: inout JSONReader) throws(JSONError) { try reader.skip() }
    }

    @Test("refuses an ordinary user exactly the methods that org.statusd.monitor(7) restricts")
    func permissions() async throws {
        let page = try String(
            contentsOfFile: #filePath.replacing(
                /Tests.StatusDaemonTests.*/, with: "packaging/man/org.statusd.monitor.7.md"), encoding: .utf8)
        try await serving(isOrdinary: true) { client in
            for method in MonitorInterface.description.methods.map(\.name) {
                let row = try #require(page.split(separator: "\n").first { $0.hasPrefix("| `\(method)` |") })
                let isRefused = await error(client, method)?.name == VarlinkError.service(.permissionDenied).name
                #expect(isRefused == !row.hasSuffix("| every user |"), "\(method)")
            }
        }
    }

    @Test("answers invalid calls with the right errors")
    func errors() async throws {
        try fixture.apply("servers: { a: { push: true } }")
        try await serving { client in
            #expect(await error(client, "Describe")?.name == "org.statusd.monitor.NothingSelected")
            for method in ["Describe", "Select", "Refresh", "Forget"] {
                let unknown = await error(client, method) { $0.member("server", "no such name") }
                #expect(unknown?.name == "org.statusd.monitor.NoSuchServer", "\(method)")
            }
            for method in ["Silence", "Unsilence"] {
                let unknown = await error(client, method) { $0.member("servers", ["a", "no such name"]) }
                #expect(unknown?.name == "org.statusd.monitor.NoSuchServer", "\(method)")
            }
            let past = await error(client, "Silence") { $0.member("until", "2020-01-01T00:00:00.000Z") }
            #expect(past?.name == "org.statusd.monitor.InvalidSilence")
            #expect(fixture.state("a")?.silence == nil)
            let nobody = await error(client, "TestAlerts") { $0.member("receiver", "nobody") }
            #expect(nobody?.name == "org.statusd.monitor.NoSuchReceiver")
            let empty = await error(client, "Post") { writer in
                writer.member("server", "a")
                writer.member("text", "")
            }
            #expect(empty?.name == "org.statusd.monitor.InvalidStatus")
            let guest = await error(client, "Post") { writer in
                writer.member("server", "b")
                writer.member("text", "here")
            }
            #expect(guest?.text("reason")?.contains("accept: configured") == true)
            #expect(await error(client, "Watch")?.name == "org.varlink.service.ExpectedMore")
            #expect(
                await error(client, "Refresh") { $0.member("server", "a") }?.name
                    == "org.statusd.monitor.NotRefreshable")
            let configured = await error(client, "Forget") { $0.member("server", "a") }
            #expect(configured?.name == "org.statusd.monitor.IsConfigured")
            #expect(await error(client, "Forget")?.text("parameter") == "server")
            let odd = await error(client, "List") { $0.member("all", true) }
            #expect(odd?.name == "org.varlink.service.InvalidParameter")
        }
    }

    private func names(_ client: VarlinkConnection) async throws -> [String] {
        let reply: MonitorInterface.ListReply = try await client.call("org.statusd.monitor.List")
        return reply.servers.map(\.name.rawValue)
    }

    @Test("posts, lists, selects, describes, waits and forgets")
    func methods() async throws {
        try fixture.apply("accept: any\nservers: { a: { push: true } }")
        try await serving { client in
            let posted = await error(client, "Post") { writer in
                writer.member("server", "b")
                writer.member("text", "Signed In")
                writer.member("level", "warning")
            }
            #expect(posted == nil)
            #expect(fixture.state("b")?.status?.level == .warning)
            #expect(try await names(client) == ["a", "b"])
            for changes in [true, false] {
                let reply: MonitorInterface.SelectReply = try await client.call(
                    "org.statusd.monitor.Select", { $0.member("server", "b") })
                #expect(reply.changed == changes)
                #expect(reply.server?.headline == "Signed In")
            }
            #expect(await error(client, "Describe") == nil)
            let found = await error(client, "Wait") { writer in
                writer.member("server", "b")
                writer.member("text", "Signed In")
            }
            #expect(found == nil)
            for milliseconds in [0, 1] {
                let late = await error(client, "Wait") { writer in
                    writer.member("server", "b")
                    writer.member("text", "never")
                    writer.member("timeoutMilliseconds", milliseconds)
                }
                #expect(late?.name == "org.statusd.monitor.WaitTimedOut")
            }
            #expect(await error(client, "Forget") { $0.member("server", "b") } == nil)
            #expect(try await names(client) == ["a"])
        }
    }
}
