// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import SystemdClient
import Varlink

/// The control interface `org.statusd.monitor`: checks callers and parameters, then calls the daemon's parts.
@EventLoop
final class ControlInterface: MonitorService {
    let monitor: StatusMonitor
    private let watcher: SelectionWatcher
    let registry: ServerRegistry
    private let reloader: Reloader
    private let reporter: ServiceManagerReporter
    let state: KeptState
    let dispatcher: AlertDispatcher
    private let startedAt = Moment.now().wall
    private let unknownErrors: LogLimiter
    /// Limited, because clients can refresh at any rate.
    let refreshes: LogLimiter
    private let encoder = EventEncoder()
    private var streams: [ObjectIdentifier: EventStream] = [:] {
        didSet {
            encoder.streamCount = streams.count
            scheduleKeepAlive()
        }
    }
    /// The streams of the section `mqtt`.
    var settingsStreams: [ObjectIdentifier: MethodStream<GetMQTTReply, MonitorError>] = [:]
    private var keepAlive: TimerSource?
    private var isKeepAliveScheduled = false

    /// The number of refreshes of a server in half a minute that are logged individually.
    private static let refreshesLogged = 10

    /// The longest time without an event on a stream.
    private static let keepAliveInterval = Duration.seconds(30)

    init(
        monitor: StatusMonitor, watcher: SelectionWatcher, registry: ServerRegistry, reloader: Reloader,
        reporter: ServiceManagerReporter, state: KeptState, dispatcher: AlertDispatcher
    ) throws {
        self.monitor = monitor
        self.watcher = watcher
        self.registry = registry
        self.reloader = reloader
        self.reporter = reporter
        self.state = state
        self.dispatcher = dispatcher
        unknownErrors = LogLimiter(registry.logger, .error)
        refreshes = LogLimiter(registry.logger, .info, burst: Self.refreshesLogged)
        keepAlive = try TimerSource(accuracy: .seconds(1)) { [unowned self] in keepStreamsAlive() }
    }

    /// Refuses callers who may only read, before their parameters are read.
    ///
    /// The option `reads` of the interface lists the methods that everyone may call.
    func admit(_ call: VarlinkCall) throws {
        if call.onlyReads || registry.access.allows(user: call.userID) { return }
        if Self.reports.contains(call.method), call.userID == registry.reporter { return }
        guard registry.access.allows(call.caller) else {
            throw MonitorError.service(.permissionDenied)
        }
    }

    /// The methods that the user of statusd-mqtt may call.
    private static let reports: Set = ["ReportHost", "ReportServer", "EndReport"]

    /// The error reply for an error of any type; without one, the connection is closed, and the error is logged.
    func failure(for error: any Error) -> MonitorError? {
        let failure = MonitorError(any: error)
        if failure == nil {
            unknownErrors.log(
                "closed a connection, because the interface has no error for: \(error)", about: "error replies")
        }
        return failure
    }

    // MARK: Reading

    func list(_ parameters: ListParameters, _ call: MonitorCall<ListReply>) {
        let scope = ServerScope(host: parameters.host, level: parameters.level)
        ServerList(monitor, scope).answer(call)
    }

    func describe(_ parameters: DescribeParameters, _ call: MonitorCall<DescribeReply>) throws {
        var state = try parameters.server.map { try monitor.state(of: try known($0)) } ?? monitor.selectedState()
        state.check = registry.checkRun(of: state.name)
        let followsWorst = state.isSelected && registry.servers.followsWorst
        call.reply(DescribeReply(server: state, notices: notices, followsWorst: followsWorst))
    }

    func watch(_ parameters: WatchParameters, _ call: MonitorCall<WatchReply>) throws {
        guard call.wantsMore else { throw MonitorError.service(.expectedMore) }
        let all = parameters.all ?? false
        if all, parameters.server != nil { throw MonitorError.service(.invalidParameter("all")) }
        let scope = ServerScope(host: parameters.host, level: parameters.level)
        if !all, !scope.isEmpty {
            throw MonitorError.service(.invalidParameter(scope.host == nil ? "level" : "host"))
        }
        let target: WatchTarget =
            try all
            ? scope.isEmpty ? .all : .matching(scope)
            : parameters.server.map { .server(try known($0)) } ?? .selected
        let stream = EventStream(monitor: monitor, encoder: encoder)
        try stream.begin(call.untyped, target, parameters) {
            self.streams[ObjectIdentifier(stream)] = nil
        }
        streams[ObjectIdentifier(stream)] = stream
    }

    func getCursor(_ call: MonitorCall<GetCursorReply>) {
        let health = MonitorInterface.Health(
            version: MonitorVersion.current, startedAt: startedAt.description,
            reloadSucceeded: reporter.configuration == .taken(errors: 0), receivers: dispatcher.receiverCounts)
        call.reply(GetCursorReply(cursor: monitor.cursor, notices: notices, health: health))
    }

    private var notices: [String]? {
        let notices = (reporter.notice.map { [$0] } ?? []) + state.notices + dispatcher.notices
        return notices.isEmpty ? nil : notices
    }

    // MARK: Changing

    func post(_ parameters: PostParameters, _ call: MonitorCall<PostReply>) throws {
        let text = try StatusText(parameters.text)
        let revision = try registry.post(text, level: parameters.level ?? .ok, to: parameters.server, by: Caller(call))
        call.reply(PostReply(revision: revision))
    }

    func select(_ parameters: SelectParameters, _ call: MonitorCall<SelectReply>) throws {
        let server = try parameters.server.map { try known($0) }
        let isChange = (try? monitor.selectedState().name) != server
        // Write earlier events of the old server now. Events that do not fit are reported as a gap.
        if isChange { call.untyped.pumpStreams() }
        let change = try registry.select(server, by: Caller(call))
        let watcher = watcher
        call.perform { call in
            await Self.waitUntilShown(change.selection, by: watcher)
            call.reply(
                SelectReply(
                    server: change.state, previous: change.previous?.rawValue, changed: change.isChange,
                    cursor: change.cursor))
        }
    }

    /// Returns when the service manager shows the newest state of the selected server.
    private static func waitUntilShown(_ selection: Selection, by watcher: SelectionWatcher) async {
        await watcher.report(selection)
        await ServiceManager.settle()
    }

    func forget(_ parameters: ForgetParameters, _ call: MonitorCall<NoMembers>) throws {
        try registry.forget(try known(parameters.server), by: Caller(call))
        call.reply()
    }

    func reload(_ parameters: ReloadParameters, _ call: MonitorCall<ReloadReply>) {
        let isDryRun = parameters.dryRun ?? false
        let (reloader, watcher, monitor, caller) = (reloader, watcher, monitor, Caller(call))
        call.perform { call in
            let outcome = await reloader.reload(isDryRun: isDryRun, by: caller)
            if outcome != nil { await Self.waitUntilShown(monitor.selection, by: watcher) }
            switch outcome {
            case .success(let reply): call.reply(reply)
            case .failure(let problem): call.fail(.reloadFailed(failed: [MonitorInterface.Failure(problem)]))
            case nil: call.hangUp()
            }
        }
    }

    // MARK: -

    func known(_ text: String) throws(MonitorError) -> ServerName {
        guard let name = ServerName(text) else {
            throw .noSuchServer(server: VarlinkError.shortened(text), reason: nil)
        }
        return name
    }

    /// Starts the keep-alive timer; without streams it does not wake an idle daemon.
    private func scheduleKeepAlive() {
        guard !isKeepAliveScheduled, !streams.isEmpty else { return }
        isKeepAliveScheduled = true
        keepAlive?.schedule(after: Self.keepAliveInterval)
    }

    private func keepStreamsAlive() {
        isKeepAliveScheduled = false
        for stream in streams.values { stream.keepAlive() }
        scheduleKeepAlive()
    }
}

extension Caller {
    /// The process that made a call.
    @EventLoop init(_ call: MonitorCall<some Any>) {
        self.init(user: call.untyped.userID, process: call.untyped.processID)
    }
}

extension MonitorError {
    /// The error reply for an error of any type; nil if the interface has none for it.
    init?(any error: any Error) {
        switch error {
        case let error as MonitorError: self = error
        case let error as LedgerError: self.init(error)
        case let error as InvalidStatus: self = .invalidStatus(reason: error.description)
        default: return nil
        }
    }

    private init(_ error: LedgerError) {
        switch error {
        case .noSuchServer(let name): self = .noSuchServer(server: name.rawValue, reason: nil)
        case .takesNoPosts: self = .invalidStatus(reason: error.description)
        case .nothingSelected: self = .nothingSelected
        }
    }
}
