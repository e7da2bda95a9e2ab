// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import SystemdClient
import Varlink

/// The control interface `org.statusd.monitor`: checks who asks and what, and passes typed values on.
@EventLoop
final class ControlInterface: VarlinkInterface {
    nonisolated let interfaceDescription: InterfaceDescription

    let monitor: StatusMonitor
    private let watcher: SelectionWatcher
    let registry: ServerRegistry
    private let reloader: Reloader
    private let encoder = EventEncoder()
    private var streams: [ObjectIdentifier: EventStream] = [:] {
        didSet {
            encoder.streamCount = streams.count
            scheduleKeepAlive()
        }
    }
    private var keepAlive: TimerSource?
    private var isKeepAliveScheduled = false

    /// How long a stream may be quiet.
    private static let keepAliveInterval = Duration.seconds(30)

    init(
        monitor: StatusMonitor, watcher: SelectionWatcher, registry: ServerRegistry, reloader: Reloader
    ) throws {
        interfaceDescription = try InterfaceDescription(parsing: MonitorInterface.text)
        self.monitor = monitor
        self.watcher = watcher
        self.registry = registry
        self.reloader = reloader
        keepAlive = try TimerSource(accuracy: .seconds(1)) { [unowned self] in keepStreamsAlive() }
    }

    func handle(_ call: VarlinkCall) {
        do {
            switch call.method {
            case "Post": try post(call)
            case "List": try list(call)
            case "Describe": try describe(call)
            case "Select": try select(call)
            case "Forget": try forget(call)
            case "Watch": try watch(call)
            case "Refresh": try refresh(call)
            case "Wait": try wait(call)
            case "Reload": try reload(call)
            default: call.failNotImplemented()
            }
        } catch {
            call.fail(VarlinkError(any: error))
        }
    }

    nonisolated func onlyReads(_ method: String) -> Bool { ["List", "Describe", "Watch", "Wait"].contains(method) }

    // MARK: Reading

    private func list(_ call: VarlinkCall) throws {
        _ = try call.parameters(NoParameters.self)
        var last: ServerName?
        var hasSelected = false
        call.reply(inPieces: { [monitor] writer in
            if last == nil { writer.beginArray("servers") }
            let states = monitor.states(after: last, limit: EventStream.serversPerPiece)
            for var state in states {
                // While it was written, the selection may have moved to a server behind the one that it shows as selected.
                state.isSelected = state.isSelected && !hasSelected
                hasSelected = hasSelected || state.isSelected
                writer.value(state)
            }
            last = states.last?.name
            if last == nil { writer.endArray() }
            return last != nil
        })
    }

    private func describe(_ call: VarlinkCall) throws {
        let name = try call.parameters(ServerParameters.self).server
        let state = try name.map { try monitor.state(of: try known($0)) } ?? monitor.selectedState()
        call.reply { $0.member("server", state) }
    }

    private func watch(_ call: VarlinkCall) throws {
        let parameters = try call.parameters(WatchParameters.self)
        guard call.wantsMore else { throw VarlinkError.expectedMore }
        let all = parameters.all ?? false
        if all, parameters.server != nil { throw VarlinkError.invalidParameter("all") }
        let target: WatchTarget = try all ? .all : parameters.server.map { .server(try known($0)) } ?? .selected
        let stream = EventStream(monitor: monitor, encoder: encoder)
        try stream.begin(call, target, updates: parameters.updates ?? false, since: parameters.since) {
            self.streams[ObjectIdentifier(stream)] = nil
        }
        streams[ObjectIdentifier(stream)] = stream
    }

    // MARK: Changing

    private func post(_ call: VarlinkCall) throws {
        // Before anything that takes its time.
        try checkAccess(of: call)
        let parameters = try call.parameters(PostParameters.self)
        let text = try StatusText(parameters.text)
        let revision = try registry.post(text, level: parameters.level ?? .ok, to: parameters.server)
        call.letStreamsCatchUp()
        call.reply { $0.member("revision", revision) }
    }

    private func select(_ call: VarlinkCall) throws {
        let name = try call.parameters(ServerParameters.self).server
        try checkAccess(of: call)
        let server = try name.map { try known($0) }
        let isChange = (try? monitor.selectedState().name) != server
        // What was said of the old server before this moment is written now; what there is no room or no time for is never written, but told as a gap.
        if isChange { call.pumpStreams() }
        let change = try monitor.select(server)
        registry.didSelect()
        call.letStreamsCatchUp()
        // Who hears no answer needs not wait until everybody else has been told.
        if call.isOneway { return call.reply() }
        let watcher = watcher
        call.perform { call in
            await Self.waitUntilShown(change.selection, by: watcher)
            let reply = SelectReply(
                server: change.state, previous: change.previous?.rawValue, changed: change.isChange,
                cursor: change.cursor)
            call.reply { reply.writeMembers(to: &$0) }
        }
    }

    /// Returns when the service manager shows the newest state of what is selected.
    private static func waitUntilShown(_ selection: Selection, by watcher: SelectionWatcher) async {
        await watcher.reported(selection)
        await ServiceManager.settle()
    }

    private func forget(_ call: VarlinkCall) throws {
        let name = try call.parameters(ServerParameters.self).server
        try checkAccess(of: call)
        guard let name else { throw VarlinkError.invalidParameter("server") }
        try registry.forget(try known(name))
        call.letStreamsCatchUp()
        call.reply()
    }

    private func reload(_ call: VarlinkCall) throws {
        let isDryRun = try call.parameters(ReloadParameters.self).dryRun
        try checkAccess(of: call)
        let (reloader, watcher, monitor) = (reloader, watcher, monitor)
        if call.isOneway {
            if !isDryRun { reloader.request() }
            return call.reply()
        }
        call.perform { call in
            let outcome = await reloader.reload(isDryRun: isDryRun)
            if outcome != nil { await Self.waitUntilShown(monitor.selection, by: watcher) }
            switch outcome {
            case .success(let reply):
                var pieces = ReloadPieces(reply)
                call.reply(inPieces: { pieces.writeNext(to: &$0) })
            case .failure(let problem): call.fail(.reloadFailed([Failure(problem)]))
            case nil: call.hangUp()
            }
        }
    }

    // MARK: -

    func known(_ text: String) throws -> ServerName {
        guard let name = ServerName(text) else { throw VarlinkError.noSuchServer(text) }
        return name
    }

    func checkAccess(of call: VarlinkCall) throws {
        guard registry.access.allows(call.caller) else { throw VarlinkError.permissionDenied }
    }

    /// Starts the timer of the streams; without streams it does not wake an idle daemon.
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

extension VarlinkError {
    /// The error reply for whatever went wrong.
    init(any error: any Error) {
        switch error {
        case let error as VarlinkError: self = error
        case LedgerError.noSuchServer(let name): self = .noSuchServer(name.rawValue)
        case RefusedPost.notConfigured(let name):
            self = .noSuchServer(
                name.rawValue,
                reason: "only configured servers may post (“accept: configured”); add it under “servers” and reload")
        case RefusedForget.configured(let name, let file): self = .isConfigured(name.rawValue, in: file)
        case LedgerError.nothingSelected: self = .nothingSelected
        case let error as InvalidStatus: self = .invalidStatus(error.description)
        case RefusedPost.misconfigured(let failure):
            self = .invalidStatus("its configuration is wrong (\(failure)); mend it and reload")
        case RefusedPost.loaded(let source):
            self = .invalidStatus(
                "its status comes from \(source), and only servers with “push” or “notify” take posts")
        case RefusedRefresh.nothingToLoad(let name): self = .notRefreshable(name.rawValue)
        case RefusedRefresh.misconfigured(let name, let failure):
            self = .refreshFailed(name.rawValue, "it cannot be followed (\(failure)); mend that and reload")
        case RefusedPost.tooManyServers(let limit): self = .limitReached("servers", limit)
        default: self = .invalidStatus("\(error)")
        }
    }
}
