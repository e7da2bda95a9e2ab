// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import Testing

@testable import Varlink

/// A running service, and a way to connect to it.
struct Harness: Sendable {
    let service: VarlinkService
    let interface: TestInterface

    /// Runs a service during `body`.
    static func run(
        limits: VarlinkService.Limits = VarlinkService.Limits(), listeners: [OwnedDescriptor] = [],
        _ body: @Sendable (Harness) async throws -> Void
    ) async throws {
        let harness = try await make(limits: limits, listeners: listeners)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await harness.service.run() }
            try await body(harness)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// A service that is not yet running.
    static func make(
        limits: VarlinkService.Limits = VarlinkService.Limits(), listeners: [OwnedDescriptor] = []
    ) async throws -> Harness {
        let interface = try await TestInterface()
        let info = VarlinkService.Info(vendor: "Example", product: "test", version: "1", url: "https://example.org/")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let service = await VarlinkService(
            info: info, interfaces: [interface], listeners: listeners, limits: limits, logger: logger)
        return Harness(service: service, interface: interface)
    }

    /// A client that is connected to the service.
    func client() async -> RawClient { RawClient(adopting: await connectedDescriptor()) }

    /// A connection made by the module's own client.
    func connection() async throws -> VarlinkConnection {
        let descriptor = OwnedDescriptor(adopting: await connectedDescriptor())
        return try await VarlinkConnection(descriptor)
    }

    private func connectedDescriptor() async -> Int32 {
        let (ours, theirs) = socketPair()
        await EventLoop.run { service.add(theirs) }
        return ours
    }

    /// Returns when all clients have gone.
    func becomesEmpty() async {
        // Not with settle(), whose own client would count.
        while await service.connectionCount > 0 { await EventLoop.run {} }
    }

    /// Returns when the service has done everything that it can do by itself.
    ///
    /// This does not depend on time. Sent bytes are in the socket when send(2) returns. Each of these calls takes a
    /// turn of the loop, in which it checks all sockets. Nothing that a test sends takes as many turns.
    func settle() async {
        let client = await client()
        for _ in 0..<50 {
            await client.send(Call.echo("x"))
            _ = await client.receive()
        }
    }
}

/// Two sockets that are connected to each other, both non-blocking.
func socketPair() -> (ours: Int32, theirs: OwnedDescriptor) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let result = socketpair(AF_UNIX, type, 0, &pair)
    precondition(result == 0, "no sockets")
    return (pair[0], OwnedDescriptor(adopting: pair[1]))
}

/// The port on which an internet socket listens.
func port(of listener: OwnedDescriptor) -> UInt16 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    _ = withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener.rawValue, $0, &length) }
    }
    // Both families have the port at the same offset.
    return withUnsafeBytes(of: storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
}

/// A directory for sockets, removed with everything in it.
func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    var template = Array("/tmp/varlink-XXXXXX".utf8CString)
    let made = mkdtemp(&template)
    let path = try #require(made.map { String(cString: $0) })
    defer {
        for name in ["socket"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }
    try await body(path)
}

/// The texts of calls.
enum Call {
    static func echo(_ text: String) -> String { call("Echo", #"{"text":"\#(text)"}"#) }

    static func call(_ method: String, _ parameters: String = "{}", _ flag: String? = nil) -> String {
        let flag = flag.map { ",\"\($0)\":true" } ?? ""
        return #"{"method":"org.example.test.\#(method)","parameters":\#(parameters)\#(flag)}"#
    }

    static func echoReply(_ text: String) -> String { #"{"parameters":{"text":"\#(text)"}}"# }
}

/// A client whose service is the test itself.
func scripted(
    limits: ClientStateMachine.Limits = ClientStateMachine.Limits()
) async throws -> (VarlinkConnection, RawClient) {
    let (ours, theirs) = socketPair()
    return (try await VarlinkConnection(theirs, limits: limits), RawClient(adopting: ours))
}

/// Makes the service send the text.
func echo(_ connection: VarlinkConnection, _ text: String) async throws -> String? {
    let reply = try await connection.call(
        "org.example.test.Echo", { $0.member("text", text) }, returning: [String: String].self, timeout: nil)
    return reply["text"]
}
