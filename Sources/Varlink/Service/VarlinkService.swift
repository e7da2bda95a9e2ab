// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
import LogLimiting
public import Logging

/// Serves Varlink interfaces on listening sockets.
@EventLoop
public final class VarlinkService {
    /// The bounds of what clients may use.
    public struct Limits: Sendable, Equatable {
        /// The longest message of a client, in bytes without its NUL.
        ///
        /// A longer one ends the connection.
        public var maximumMessageBytes = 64 * 1024
        /// While more than this many bytes wait for a client, its calls are not read and not handled, its stream is not asked for more, and its
        /// long answers are not written.
        public var maximumUnsentBytes = 64 * 1024
        /// How many connections one user may have.
        ///
        /// One too many is closed at once.
        public var maximumConnectionsPerUser = 128
        /// How many connections all users together may have; the last of them are for root and this process's own user.
        ///
        /// Three eighths of the descriptors, and no more than 2048: they bound the memory that all clients together can take, to some 400 MB.
        public var maximumConnections = min(2048, OwnedDescriptor.limit * 3 / 8)
        /// The users whose calls are handled before those that wait in a queue, so other users cannot delay them.
        public var preferredUsers: Set<UInt32> = [0, geteuid()]
        /// How long clients have, when the service ends, to read what was answered before.
        public var drainTime = Duration.seconds(1)

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

    /// The bounds of what clients may use.
    ///
    /// Connections that are there stay.
    public var limits: Limits {
        didSet {
            places.limitOfUser = limits.maximumConnectionsPerUser
            places.limitOfAll = limits.maximumConnections
        }
    }

    /// What a client is told that is refused because of ``Limits``: the limit's name, `connections` or `message`, and its value.
    ///
    /// Where it is nil, the connection is closed without a word.
    public var refusal: (_ limit: StaticString, _ value: Int) -> VarlinkError? = { _, _ in nil }

    /// The user for whom the connections of a client's user count, and its share of each turn.
    ///
    /// What a client may do depends on the client's own user.
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
    /// What users have it do.
    let turns = TurnQueue()
    /// Streams that have something to write.
    let streams = StreamQueue()
    private let refusals: LogLimiter
    private let failures: LogLimiter
    private var onAllClosed: CheckedContinuation<Void, Never>?
    /// Whether the service is about to end, so that no more calls are handled.
    private(set) var isStopping = false

    /// A service that serves once ``run()`` is called.
    ///
    /// Clients may connect before; they wait. Unlisted interfaces are served, but clients are not told of them.
    ///
    /// - Parameters:
    ///   - privilegedListeners: the listeners that ordinary users cannot connect to. Their clients are accepted even while the closing of
    ///     many refused connections keeps others waiting.
    ///   - passesDescriptors: whether file descriptors may come with calls and go with replies, over Unix sockets. The clients of such a service
    ///     must be trusted: they can send descriptors that take this process's place for descriptors, and that are slow to receive.
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

    /// Accepts and serves until the task is cancelled; once in the service's life.
    ///
    /// Then no more calls are taken, what is being performed is cancelled and its end awaited, what was answered is sent for at most
    /// ``Limits/drainTime``, and all connections are closed.
    public func run() async throws {
        defer { stopAccepting() }
        for listener in privilegedListeners { try accept(from: listener, isPrivileged: true) }
        for listener in listeners { try accept(from: listener, isPrivileged: false) }
        await perform()
        await drain()
    }

    /// Runs what calls ask to be performed, side by side, until the task is cancelled; then waits for the end of each.
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

    /// Closes each connection as soon as its client has read all, and those who do not read when the time is over.
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

    /// The way to a method that is named in a message.
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

    /// Has the implementer of a call's method answer it.
    func handle(_ call: VarlinkCall) {
        guard let interface = call.route.interface else { return call.fail(notFound(call.route.fullName)) }
        if call.wantsUpgrade, !call.route.upgrades { call.failNotImplemented() } else { interface.handle(call) }
    }

    /// The error for a method that nobody described.
    private func notFound(_ method: String) -> VarlinkError {
        // By bytes: to look for a character backwards takes the square of the length, if a client sends nothing but flags.
        guard let dot = method.utf8.lastIndex(of: UInt8(ascii: ".")) else { return .interfaceNotFound(method) }
        let interface = String(method[..<dot])
        return interfaceNames.contains(interface)
            ? .methodNotFound(method) : .interfaceNotFound(interface)
    }

    // MARK: Connections

    /// Serves a client that is connected already.
    ///
    /// - Parameter isInternal: whether it is a part of this process, which needs no place and is never closed for somebody else.
    public func add(_ descriptor: OwnedDescriptor, isInternal: Bool = false) {
        // Not their groups, which may take the kernel long: most are never asked for, and this client may be refused.
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

    /// Closes a connection of an account that has more than another.
    private func closeConnection(of account: UInt32) {
        guard let connection = connections.values.first(where: { $0.account == account && !$0.isInternal })
        else { return }
        let user = connection.credentials.userID
        refusals.log(
            "closed a connection of \(Self.name(user, account)), which had the most, to make room for another user",
            about: "user \(account)", metadata: ["user-id": "\(user)"])
        connections[ObjectIdentifier(connection)] = nil
        connection.close()
    }

    /// Refuses a client for whom there is no place, and who counts for the account.
    private func refuse(
        _ descriptor: OwnedDescriptor, of credentials: PeerCredentials, account: UInt32, _ limit: Int,
        _ reason: String
    ) {
        let socket = ForeignSocket(descriptor, user: account)
        let message = refusal("connections", limit)?.reply ?? []
        // Not before: who has accepted it still holds the descriptor.
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
