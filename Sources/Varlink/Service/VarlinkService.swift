// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Systemd

/// Serves Varlink interfaces on listening sockets.
@EventLoop
public final class VarlinkService {
    /// The bounds of what clients may use.
    public struct Limits: Sendable, Equatable {
        /// The longest message of a client, in bytes without its NUL. A longer one ends the connection.
        public var maximumMessageBytes = 64 * 1024
        /// While more than this many bytes wait for a client, its calls are not handled and not read.
        public var maximumUnsentBytes = 1024 * 1024
        /// While more than this many bytes wait for a client, its stream is not asked for more.
        public var lowWaterBytes = 64 * 1024
        /// How many connections one user may have. One too many is closed at once.
        public var maximumConnectionsPerUser = 128

        /// The limits that hold unless somebody says otherwise.
        public init() {}
    }

    /// What `org.varlink.service.GetInfo` says.
    public struct Info: Sendable {
        var vendor: String
        var product: String
        var version: String
        var url: String

        /// Information with what belongs to it.
        public init(vendor: String, product: String, version: String, url: String) {
            self.vendor = vendor
            self.product = product
            self.version = version
            self.url = url
        }
    }

    struct Route {
        var method: String
        var interface: (any VarlinkInterface)?
    }

    /// The bounds of what clients may use. Connections that are there stay.
    public var limits: Limits

    private let routes: [String: Route]
    private let interfaceNames: Set<String>
    private let listeners: [OwnedDescriptor]
    private let logger: Logger
    private let jobs: AsyncStream<@EventLoop @Sendable () async -> Void>
    private let enqueueJob: AsyncStream<@EventLoop @Sendable () async -> Void>.Continuation
    private var acceptors: [Acceptor] = []
    private var connections: [ObjectIdentifier: ServerConnection] = [:]
    private var connectionsOfUser: [UInt32: Int] = [:]
    private var scratch: UnsafeMutableRawBufferPointer?

    /// A service that serves once ``run()`` is called. Clients may connect before; they wait.
    public init(
        info: Info, interfaces: [any VarlinkInterface], listeners: [OwnedDescriptor], limits: Limits = Limits(),
        logger: Logger
    ) {
        let all = [ServiceInterface(info: info, interfaces: interfaces.map(\.interfaceDescription))] + interfaces
        var routes: [String: Route] = [:]
        for interface in all {
            for method in interface.interfaceDescription.methods {
                routes["\(interface.interfaceDescription.name).\(method.name)"] = Route(
                    method: method.name, interface: interface)
            }
        }
        self.routes = routes
        interfaceNames = Set(all.map(\.interfaceDescription.name))
        self.listeners = listeners
        self.limits = limits
        self.logger = logger
        (jobs, enqueueJob) = AsyncStream.makeStream()
    }

    isolated deinit { scratch?.deallocate() }

    /// How many clients are connected.
    public var connectionCount: Int { connections.count }

    /// Accepts and serves until the task is cancelled. Then what was answered is sent as far as the sockets take it, and all connections are closed.
    public func run() async throws {
        for listener in listeners { acceptors.append(try Acceptor(listener, logger: logger) { self.add($0) }) }
        await Self.perform(jobs) { self.closeAll() }
    }

    /// Runs jobs side by side until the task is cancelled; then cancels them, and waits for their end.
    private static func perform(
        _ jobs: AsyncStream<@EventLoop @Sendable () async -> Void>, onEnd: @EventLoop () -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask(operation: job) }
            group.cancelAll()
            onEnd()
        }
    }

    private func closeAll() {
        for acceptor in acceptors { acceptor.cancel() }
        acceptors = []
        for connection in connections.values {
            connection.transport.flush()
            connection.close()
        }
    }

    // MARK: Routing

    func route(_ method: String) -> Route { routes[method] ?? Route(method: method, interface: nil) }

    /// The error for a method that nobody described.
    func notFound(_ method: String) -> VarlinkError {
        guard let dot = method.lastIndex(of: ".") else { return .interfaceNotFound(method) }
        let interface = String(method[..<dot])
        return interfaceNames.contains(interface)
            ? .methodNotFound(String(method[method.index(after: dot)...])) : .interfaceNotFound(interface)
    }

    // MARK: Connections

    private func add(_ descriptor: OwnedDescriptor) {
        guard let connection = try? ServerConnection(descriptor, service: self) else { return }
        let user = connection.credentials.userID
        guard connectionsOfUser[user, default: 0] < limits.maximumConnectionsPerUser else {
            logger.notice("too many connections of one user", metadata: ["user-id": "\(user)"])
            return connection.transport.close()
        }
        connections[ObjectIdentifier(connection)] = connection
        connectionsOfUser[user, default: 0] += 1
    }

    func remove(_ connection: ServerConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        let user = connection.credentials.userID
        connectionsOfUser[user, default: 1] -= 1
        if connectionsOfUser[user] == 0 { connectionsOfUser[user] = nil }
    }

    func enqueue(_ job: @escaping @EventLoop @Sendable () async -> Void) { enqueueJob.yield(job) }

    /// Lends the memory that all connections read into, one after another.
    func withScratch(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
        // Room for the beginning of the longest message, and for as much again to be read at once.
        let needed = 2 * (limits.maximumMessageBytes + 1) + 64 * 1024
        let taken: UnsafeMutableRawBufferPointer
        if let scratch, scratch.count >= needed {
            taken = scratch
        } else {
            scratch?.deallocate()
            taken = .allocate(byteCount: needed, alignment: 64)
        }
        scratch = nil
        body(taken)
        scratch = taken
    }
}
