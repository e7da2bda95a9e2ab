// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
import LogLimiting
public import Logging

/// Serves Varlink interfaces on listening sockets.
@EventLoop
public final class VarlinkService {
    /// The limits for clients.
    public struct Limits: Sendable, Equatable {
        /// The longest message from a client, in bytes without its NUL.
        ///
        /// A longer one closes the connection.
        public var maximumMessageBytes = 64 * 1024
        /// How many bytes may wait to be sent to a client.
        ///
        /// Above that, its calls are not read, its stream is paused, and its long replies are not written.
        public var maximumUnsentBytes = 64 * 1024
        /// How many connections a user may have.
        ///
        /// One more is refused. Root has no such limit.
        public var maximumConnectionsPerUser = 128
        /// How many connections all users may have together; the last ones are reserved for root and this process's own
        /// user.
        ///
        /// The default is three eighths of the process's descriptors, but at most 2048, which limits the memory for all
        /// clients to about 400 MB.
        public var maximumConnections = min(2048, OwnedDescriptor.limit * 3 / 8)
        /// The users whose calls skip the queue, so that other users cannot delay them.
        ///
        /// They are trusted not to slow down the event loop.
        public var preferredUsers: Set<UInt32> = [0, geteuid()]
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
            places.limitOfUser = limits.maximumConnectionsPerUser
            places.limitOfAll = limits.maximumConnections
        }
    }

    /// Returns the error for a client that reached a limit: `connections` or `message`, and its value.
    ///
    /// If it returns nil, the connection is closed without an error.
    public var refusal: (_ limit: StaticString, _ value: Int) -> VarlinkError? = { _, _ in nil }

    /// Returns the user whose limits and share of each turn apply to a client of `user`.
    ///
    /// Permissions still depend on the client's own user.
    public var account: (_ user: UInt32) -> UInt32 = { $0 }

    private let routes: RouteTable
    private let interfaceNames: Set<String>
    private let listeners, privilegedListeners: [OwnedDescriptor]
    /// Whether descriptors may travel with messages.
    let passesDescriptors: Bool
    let logger: Logger
    private let jobs: AsyncStream<@EventLoop @Sendable () async -> Void>
    private let enqueueJob: AsyncStream<@EventLoop @Sendable () async -> Void>.Continuation
    private var acceptors: [Acceptor] = []
    private var connections: [ObjectIdentifier: ServerConnection] = [:]
    private var places: ConnectionPlaces
    /// The work that waits for its user's turn.
    let turns = TurnQueue()
    /// The streams that have something to write.
    let streams = StreamQueue()
    private let refusals: LogLimiter
    private let failures: LogLimiter
    private var onAllClosed: CheckedContinuation<Void, Never>?
    /// Whether the service is ending and handles no more calls.
    private(set) var isStopping = false

    /// Creates a service, which serves once ``run()`` is called.
    ///
    /// Clients that connect before that wait.
    ///
    /// - Parameters:
    ///   - info: the reply of `GetInfo`.
    ///   - interfaces: what it serves, apart from `org.varlink.service`.
    ///   - unlisted: interfaces that it serves, but that `GetInfo` does not list.
    ///   - listeners: the listening sockets.
    ///   - privilegedListeners: listeners that ordinary users cannot connect to. Their clients are accepted even while
    ///     many refused connections are being closed, which delays others.
    ///   - passesDescriptors: whether file descriptors may come with calls and go with replies, over Unix sockets. The
    ///     clients of such a service must be trusted: they can use up this process's descriptors, and send some that are
    ///     slow to receive.
    ///   - limits: the limits for clients.
    ///   - logger: gets refused connections and errors of handlers.
    public init(
        info: Info, interfaces: [any VarlinkInterface], unlisted: [any VarlinkInterface] = [],
        listeners: [OwnedDescriptor], privilegedListeners: [OwnedDescriptor] = [],
        passesDescriptors: Bool = false, limits: Limits = Limits(), logger: Logger = Logger(label: "varlink")
    ) {
        let listed = [ServiceInterface(info: info, interfaces: interfaces.map(\.interfaceDescription))] + interfaces
        let all = listed + unlisted
        routes = RouteTable(
            all.flatMap { interface in
                let description = interface.interfaceDescription
                return description.methods.enumerated().map { index, method in
                    Route(
                        fullName: "\(description.name).\(method.name)", method: method.name, index: index,
                        interface: interface)
                }
            })
        interfaceNames = Set(listed.map(\.interfaceDescription.name))
        self.listeners = listeners
        self.privilegedListeners = privilegedListeners
        self.passesDescriptors = passesDescriptors
        if !passesDescriptors {
            for listener in listeners + privilegedListeners { UnixSocket.refuseDescriptors(listener.rawValue) }
        }
        self.limits = limits
        places = ConnectionPlaces(
            limitOfUser: limits.maximumConnectionsPerUser, limitOfAll: limits.maximumConnections)
        self.logger = logger
        refusals = LogLimiter(logger, .notice)
        failures = LogLimiter(logger, .warning)
        (jobs, enqueueJob) = AsyncStream.makeStream()
    }

    /// How many clients are connected.
    public var connectionCount: Int { connections.count }

    /// Serves until the task is cancelled.
    ///
    /// Call it only once.
    ///
    /// Then it takes no more calls, cancels the tasks of calls and waits for them, sends what was answered for at most
    /// ``Limits/drainTime``, and closes all connections.
    public func run() async throws {
        defer { stopAccepting() }
        for listener in privilegedListeners { try accept(from: listener, isPrivileged: true) }
        for listener in listeners { try accept(from: listener, isPrivileged: false) }
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

    private func accept(from listener: OwnedDescriptor, isPrivileged: Bool) throws(IOError) {
        acceptors.append(
            try Acceptor(listener, isPrivileged: isPrivileged, failures: failures) { [weak self] in self?.add($0) })
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

    /// The method that a message names.
    func route(_ method: CallEnvelope.Method?, in message: UnsafeRawBufferPointer) -> Route {
        switch method {
        case .inPlace(let range):
            let bytes = UnsafeRawBufferPointer(rebasing: message[range]).assumingMemoryBound(to: UInt8.self)
            return route(bytes)
        case .decoded(let text): return Array(text.utf8).withUnsafeBufferPointer(route)
        case nil: return unknown("")
        }
    }

    private func route(_ name: UnsafeBufferPointer<UInt8>) -> Route {
        routes[name] ?? unknown(String(decoding: name.prefix(VarlinkError.maximumNameBytes), as: UTF8.self))
    }

    private func unknown(_ name: String) -> Route { Route(fullName: name, method: name, interface: nil) }

    /// Has the interface answer a call.
    func handle(_ call: VarlinkCall) {
        guard let interface = call.route.interface else { return call.fail(notFound(call.route.fullName)) }
        if call.wantsUpgrade, !call.route.upgrades { call.failNotImplemented() } else { interface.handle(call) }
    }

    /// The error for an unknown method.
    private func notFound(_ method: String) -> VarlinkError {
        // Characters would take the square of the length, if a client sends nothing but flags.
        guard let dot = method.utf8.lastIndex(of: UInt8(ascii: ".")) else { return .interfaceNotFound(method) }
        let interface = String(method[..<dot])
        return interfaceNames.contains(interface)
            ? .methodNotFound(method) : .interfaceNotFound(interface)
    }

    // MARK: Connections

    /// Serves a client that has connected already.
    ///
    /// - Parameters:
    ///   - descriptor: its socket.
    ///   - isInternal: whether the client is part of this process. It is not counted, and is never closed to make room
    ///     for another.
    public func add(_ descriptor: OwnedDescriptor, isInternal: Bool = false) {
        // Groups are looked up later, because that may be slow, few calls need them, and this client may be refused.
        guard !isStopping, let credentials = try? UnixSocket.peerCredentials(of: descriptor.rawValue) else { return }
        let account = self.account(credentials.userID)
        switch isInternal ? .place : places.take(for: account) {
        case .place: break
        case .placeOf(let greediest): closeConnection(of: greediest)
        case .tooManyOfUser(let limit):
            return refuse(
                descriptor, of: credentials, account: account, limit, "limit reached: \(limit) connections of this user"
            )
        case .tooManyOfAll(let limit):
            return refuse(
                descriptor, of: credentials, account: account, limit, "limit reached: \(limit) connections of all users"
            )
        }
        do throws(IOError) {
            let connection = try ServerConnection(
                descriptor, credentials: credentials, account: account, isInternal: isInternal, service: self)
            connections[ObjectIdentifier(connection)] = connection
        } catch {
            if !isInternal { places.giveBack(of: account) }
            failures.log("cannot serve a connection: \(error)", about: error.message)
        }
    }

    /// Closes a connection of the account that has the most.
    private func closeConnection(of account: UInt32) {
        guard let connection = connections.values.first(where: { $0.account == account && !$0.isInternal })
        else { return }
        let user = connection.credentials.userID
        refusals.log(
            "closed a connection of \(Self.name(user, account)), who had the most connections, to make room for another user",
            about: "user \(account)", metadata: ["user-id": "\(user)"])
        connections[ObjectIdentifier(connection)] = nil
        connection.close()
    }

    /// Refuses a client of an account, because a limit was reached.
    private func refuse(
        _ descriptor: OwnedDescriptor, of credentials: PeerCredentials, account: UInt32, _ limit: Int,
        _ reason: String
    ) {
        let socket = ForeignSocket(descriptor, user: account)
        let message = refusal("connections", limit)?.reply ?? []
        // The caller still holds the descriptor.
        EventLoop.atEndOfTurn { socket.dismiss(with: message) }
        refusals.log(
            "refused a connection of \(Self.name(credentials.userID, account)): \(reason)", about: "user \(account)",
            metadata: ["user-id": "\(credentials.userID)"])
    }

    private static func name(_ user: UInt32, _ account: UInt32) -> String {
        user == account ? "user \(user)" : "user \(user) (counted as user \(account))"
    }

    func remove(_ connection: ServerConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        if !connection.isInternal { places.giveBack(of: connection.account) }
        resumeIfAllClosed()
    }

    func enqueue(_ job: @escaping @EventLoop @Sendable () async -> Void) { enqueueJob.yield(job) }
}
