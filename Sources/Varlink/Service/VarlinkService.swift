// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
public import Logging

/// Serves Varlink interfaces on listening sockets.
@EventLoop
public final class VarlinkService {
    /// The limits for clients.
    public struct Limits: Sendable, Equatable {
        /// The longest message from a client, in bytes without its NUL.
        ///
        /// A longer message closes the connection.
        public var maximumMessageBytes = 64 * 1024
        /// How many bytes may wait to be sent to a client.
        ///
        /// Above that, its calls are not read, its stream is paused, and its long replies are not written.
        public var maximumUnsentBytes = 64 * 1024
        /// How many connections a user may have.
        ///
        /// Further connections are refused. Root has no such limit.
        public var maximumConnectionsPerUser = 128
        /// How many connections all users may have together.
        ///
        /// The last ones are reserved for root and this process's own user. The default is three eighths of the
        /// process's descriptors, but at most 2048, which limits the memory for all clients to about 400 MB.
        public var maximumConnections = min(2048, OwnedDescriptor.limit * 3 / 8)
        /// How long clients may take to read their last replies when the service ends.
        public var drainTime = Duration.seconds(1)

        /// The default limits.
        public init() {}
    }

    /// The reply of `org.varlink.service.GetInfo`.
    public struct Info: Sendable {
        var vendor: String
        var product: String
        var version: String
        var url: String

        /// Creates the reply from its members.
        public init(vendor: String, product: String, version: String, url: String) {
            self.vendor = vendor
            self.product = product
            self.version = version
            self.url = url
        }
    }

    /// The limits for clients.
    ///
    /// A change does not close connections.
    public var limits: Limits {
        didSet {
            counts.ofUser = limits.maximumConnectionsPerUser
            counts.ofAll = limits.maximumConnections
        }
    }

    /// Returns the error for a client that reached a limit: `connections` or `message`, and its value.
    ///
    /// If it returns nil, the connection is closed without an error.
    public var refusal: (_ limit: StaticString, _ value: Int) -> VarlinkError? = { _, _ in nil }

    /// The methods by the bytes of their names, because hashing a client's string could take quadratic time.
    private let routes: [[UInt8]: Route]
    private let interfaceNames: Set<String>
    private let listeners: [OwnedDescriptor]
    let logger: Logger
    private let jobs: AsyncStream<@EventLoop @Sendable () async -> Void>
    private let enqueueJob: AsyncStream<@EventLoop @Sendable () async -> Void>.Continuation
    private var acceptors: [Acceptor] = []
    private var connections: [ObjectIdentifier: ServerConnection] = [:]
    private var counts: ConnectionLimits
    /// The streams that have something to write.
    let streams = StreamQueue()
    private let refusals: LogLimiter
    /// Limits messages about accepting connections and about calls that failed.
    let failures: LogLimiter
    private var onAllClosed: CheckedContinuation<Void, Never>?
    /// Whether the service is ending and handles no more calls.
    private(set) var isStopping = false

    /// Creates a service, which serves once ``run()`` is called.
    ///
    /// Clients that connect earlier wait.
    ///
    /// - Parameters:
    ///   - info: the reply of `GetInfo`.
    ///   - interfaces: what it serves, apart from `org.varlink.service`.
    ///   - unlisted: interfaces that it serves, but that `GetInfo` does not list.
    ///   - listeners: the listening sockets.
    ///   - limits: the limits for clients.
    ///   - logger: gets refused connections and errors of handlers.
    public init(
        info: Info, interfaces: [any VarlinkInterface], unlisted: [any VarlinkInterface] = [],
        listeners: [OwnedDescriptor], limits: Limits = Limits(), logger: Logger = Logger(label: "varlink")
    ) {
        let listed = [ServiceInterface(info: info, interfaces: interfaces.map(\.interfaceDescription))] + interfaces
        let all = listed + unlisted
        routes = Dictionary(all.flatMap(Route.all).map { (Array($0.fullName.utf8), $0) }) { first, _ in first }
        interfaceNames = Set(listed.map(\.interfaceDescription.name))
        self.listeners = listeners
        self.limits = limits
        counts = ConnectionLimits(ofUser: limits.maximumConnectionsPerUser, ofAll: limits.maximumConnections)
        self.logger = logger
        refusals = LogLimiter(logger, .notice)
        failures = LogLimiter(logger, .warning)
        (jobs, enqueueJob) = AsyncStream.makeStream()
    }

    /// How many clients are connected.
    public var connectionCount: Int { connections.count }

    /// Serves until the task is cancelled.
    ///
    /// When it is cancelled, it takes no more calls, cancels the tasks of calls and waits for them, sends pending
    /// replies for at most ``Limits/drainTime``, and closes all connections. Call it only once.
    public func run() async throws {
        defer { stopAccepting() }
        for listener in listeners {
            acceptors.append(try Acceptor(listener, failures: failures) { [weak self] in self?.add($0) })
        }
        await perform()
        await drain()
    }

    /// Runs the tasks of calls concurrently until this task is cancelled, then waits for their end.
    private func perform() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask(operation: job) }
            self.stopAccepting()
            group.cancelAll()
        }
    }

    private func stopAccepting() {
        isStopping = true
        for acceptor in acceptors { acceptor.cancel() }
        acceptors = []
        for connection in connections.values { connection.stopReading() }
    }

    /// Closes each connection once its client has read everything, and all of them after the drain time.
    private func drain() async {
        for connection in connections.values { connection.drain() }
        guard !connections.isEmpty else { return }
        let timer = try? TimerSource { self.closeAll() }
        if let timer { timer.schedule(after: limits.drainTime) } else { closeAll() }
        await withCheckedContinuation { continuation in
            onAllClosed = continuation
            resumeIfAllClosed()
        }
        timer?.cancel()
    }

    private func closeAll() {
        for connection in connections.values { connection.close() }
    }

    private func resumeIfAllClosed() {
        guard connections.isEmpty else { return }
        onAllClosed?.resume()
        onAllClosed = nil
    }

    // MARK: Routing

    /// Returns the method that a message names.
    func route(_ method: CallEnvelope.Method?, in message: UnsafeRawBufferPointer) -> Route {
        switch method {
        case .inPlace(let range): return route(Array(message[range]))
        case .decoded(let text): return route(Array(text.utf8))
        case nil: return route([])
        }
    }

    private func route(_ name: [UInt8]) -> Route {
        routes[name]
            ?? Route(unknown: String(decoding: name.prefix(VarlinkError.maximumNameBytes), as: UTF8.self))
    }

    /// Refuses a call that no interface can answer.
    func refuse(_ call: VarlinkCall) {
        if call.route.interface == nil { call.fail(notFound(call.route.fullName)) } else { call.failNotImplemented() }
    }

    /// The error for an unknown method.
    private func notFound(_ method: String) -> VarlinkError {
        // Bytes, because searching characters would take quadratic time in a text of flag emoji.
        let end = method.utf8.lastIndex(of: UInt8(ascii: ".")) ?? method.endIndex
        let name = String(method[..<end])
        return .service(interfaceNames.contains(name) ? .methodNotFound(method) : .interfaceNotFound(name))
    }

    // MARK: Connections

    /// Serves a client that has connected already.
    ///
    /// - Parameters:
    ///   - descriptor: its socket.
    ///   - isInternal: whether the client is part of this process, and therefore not counted.
    public func add(_ descriptor: OwnedDescriptor, isInternal: Bool = false) {
        // Groups are looked up later, because few calls need them.
        guard !isStopping, let credentials = try? PeerCredentials(ofConnected: descriptor.rawValue) else { return }
        do throws(ConnectionLimits.Reached) {
            if !isInternal { try counts.add(credentials.userID) }
        } catch {
            return refuse(descriptor, of: credentials.userID, error)
        }
        do throws(IOError) {
            let connection = try ServerConnection(
                descriptor, credentials: credentials, isInternal: isInternal, service: self)
            connections[ObjectIdentifier(connection)] = connection
        } catch {
            if !isInternal { counts.remove(credentials.userID) }
            failures.log("cannot serve a connection: \(error)", about: error.message)
        }
    }

    /// Refuses a client, because a limit was reached.
    private func refuse(_ descriptor: OwnedDescriptor, of user: UInt32, _ limit: ConnectionLimits.Reached) {
        if let message = refusal("connections", limit.value)?.reply {
            send(descriptor.rawValue, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        descriptor.closeConnection()
        let whose = if case .ofUser = limit { "this user" } else { "all users" }
        refusals.log(
            "refused a connection of user \(user): limit reached: \(limit.value) connections of \(whose)",
            about: "user \(user)", metadata: ["user-id": "\(user)"])
    }

    func remove(_ connection: ServerConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        if !connection.isInternal { counts.remove(connection.credentials.userID) }
        resumeIfAllClosed()
    }

    func enqueue(_ job: @escaping @EventLoop @Sendable () async -> Void) { enqueueJob.yield(job) }
}
