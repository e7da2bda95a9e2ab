// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusSupport

/// Runs `top`: reads keys and events, and draws what the model says.
@EventLoop
final class TopProgram {
    /// How long the terminal may take to send the rest of a key's bytes.
    private static let escapeTime = Duration.milliseconds(50)
    private static let frameTime = Duration.milliseconds(100)
    /// The time between attempts to read strips.
    private static let retryTime = Duration.seconds(1)
    /// How long the daemon may take to answer before the user is told that it has not.
    private static let answerTime = Duration.seconds(2)

    private let terminal: Terminal
    private let addresses: [DaemonAddress]
    /// The first connection to the only host.
    private let client: MonitorClient?
    private let histories: [TopHistory]
    private var model: TopModel
    private var screen = Screen()
    private var decoder = KeyDecoder()
    private var frame = 0
    private let actions: AsyncThrowingStream<TopModel.Action, any Error>
    private let perform: AsyncThrowingStream<TopModel.Action, any Error>.Continuation
    private var redrawing: Redrawing?
    private var frameTimer: TimerSource?
    private var escapeTimer: TimerSource?
    private var keyboard: IOSource?
    /// Whether another program has the terminal.
    private var isPaused = false

    /// Shows the servers of a host that is connected already.
    convenience init(_ context: ClientCommand.Context) {
        self.init([context.address], context.terminal, client: context.client)
    }

    /// Shows the servers of several hosts.
    init(_ addresses: [DaemonAddress], _ terminal: Terminal, client: MonitorClient? = nil) {
        (self.addresses, self.terminal, self.client) = (addresses, terminal, client)
        histories = addresses.map { TopHistory($0) }
        model = TopModel(hosts: addresses.map { TopHost(name: $0.hostName, options: $0.options) })
        (actions, perform) = AsyncThrowingStream.makeStream()
    }

    /// Runs until the user ends it, or following fails for another reason than that the daemon is away.
    func run() async throws -> ExitStatus {
        redrawing = try Redrawing { [weak self] in self?.draw() }
        frameTimer = try TimerSource { [weak self] in self?.moveFrame() }
        escapeTimer = try TimerSource { [weak self] in self?.take(self?.decoder.flush() ?? []) }
        keyboard = try makeKeyboard()
        let sources = try signals()
        let clock = try TickingClock { [weak self] in self?.redrawing?.needsDrawing() }
        defer { withExtendedLifetime((sources, clock)) {} }
        ErrorRelay.mute()
        FullScreen.enter()
        defer { FullScreen.leave() }
        draw()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for host in addresses.indices {
                group.addTask { await self.follow(host) }
                group.addTask { await self.loadHistory(of: host) }
                group.addTask { await self.askForLife(of: host) }
            }
            for try await action in actions {
                switch action {
                case .quit: return .done
                case .suspend: suspend()
                case .redraw:
                    screen.forget()
                    draw()
                case .select(let server):
                    group.addTask { await self.request(server) { try await $0.select(server: server.name.rawValue) } }
                case .silence(let server, let begins):
                    group.addTask { await self.request(server) { try await Self.silence(server.name, begins, $0) } }
                case .refresh(let server):
                    group.addTask {
                        await self.request(server) { try await $0.refreshed(server: server.name.rawValue) }
                    }
                case .journal(let server): group.addTask { await self.showJournal(of: server) }
                }
            }
            return .done
        }
    }

    // MARK: Input

    private func makeKeyboard() throws(IOError) -> IOSource {
        let copy = dup(STDIN_FILENO)
        guard copy >= 0 else { throw IOError(errno: errno, "cannot read the keyboard") }
        return try IOSource(OwnedDescriptor(adopting: copy), events: .readable) { [weak self] events in
            self?.readKeys(copy, hasGone: !events.isDisjoint(with: [.hangUp, .error]))
        }
    }

    private func readKeys(_ descriptor: Int32, hasGone: Bool) {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, !hasGone else { return perform.finish() }
        take(decoder.keys(bytes[..<count]))
        if decoder.isUndecided { escapeTimer?.schedule(after: Self.escapeTime) } else { escapeTimer?.stop() }
    }

    private func take(_ keys: [Key]) {
        for key in keys {
            if let action = model.press(key) { perform.yield(action) }
        }
        // A key is answered at once.
        if !keys.isEmpty { draw() }
    }

    private func signals() throws(IOError) -> [AnyObject] {
        SignalSource.block([SIGWINCH, SIGCONT, SIGTSTP])
        var sources: [AnyObject] = []
        sources.append(try SignalSource(SIGWINCH) { [weak self] _ in self?.draw() })
        sources.append(try SignalSource(SIGCONT) { [weak self] _ in self?.resume() })
        sources.append(try SignalSource(SIGTSTP) { [weak self] _ in self?.suspend() })
        return sources
    }

    /// Stops the process, with the terminal as it was before.
    private func suspend() {
        FullScreen.leave()
        raise(SIGSTOP)
        resume()
    }

    private func resume() {
        guard !isPaused else { return }
        FullScreen.enter()
        screen.forget()
        draw()
    }

    // MARK: The daemon

    /// Follows a host; if it is one of several, whatever happens to it, and without questions of ssh(1).
    private func follow(_ host: Int) async {
        do {
            var follower = EventFollower(
                MonitorInterface.WatchParameters(all: true, updates: true), at: addresses[host],
                model.hasSeveralHosts ? .whateverFails : .unlimited, resumes: false, continuing: client,
                mayAsk: !model.hasSeveralHosts)
            try await follower.run { step in
                model.apply(step, of: host)
                redrawing?.needsDrawing()
            }
        } catch {
            perform.finish(throwing: error)
        }
    }

    /// Calls the daemon on a connection of its own, which may start it, as for the other commands; a failure is shown
    /// in the last line.
    private func request(_ server: TopServer, _ call: (MonitorClient) async throws -> some Any) async {
        let (address, waiting) = (addresses[server.host], "the daemon has not answered yet")
        let hint = try? TimerSource { [weak self] in
            // A load that has begun is shown next to its server.
            if let self, model.state(of: server)?.isRefreshing != true { show(waiting) }
        }
        hint?.schedule(after: Self.answerTime)
        defer { hint?.cancel() }
        do {
            _ = try await call(try await address.connect(isRetry: true))
            if model.message == waiting { show(nil) }
        } catch {
            if error is CancellationError { return }
            show(CommandFailure(error, address: address).sentence.split(separator: "\n").first.map(String.init))
        }
    }

    /// Shows the journal of a server in its own program, then the servers again.
    private func showJournal(of server: TopServer) async {
        guard !isPaused else { return }
        var unit: String?
        // While the daemon is away, what it has written about the server is what helps.
        if model.hosts[server.host].absence == nil, model.state(of: server)?.source == "unit" {
            unit = try? await histories[server.host].check(of: server.name)?.unit
        }
        // The user may have pressed the key twice.
        guard !isPaused else { return }
        do throws(CommandFailure) {
            let journal = try TopJournal(of: server.name, unit: unit, at: addresses[server.host])
            isPaused = true
            keyboard?.events = []
            FullScreen.leave()
            defer {
                isPaused = false
                keyboard?.events = .readable
                resume()
            }
            try await journal.run()
        } catch {
            show(error.sentence)
        }
    }

    /// How long a silence lasts that a key begins.
    private static let silenceTime = Duration.seconds(3600)

    private static func silence(_ server: ServerName, _ begins: Bool, _ client: MonitorClient) async throws {
        if begins {
            _ = try await client.silence(servers: [server.rawValue], until: TimeText.now + silenceTime, reason: nil)
        } else {
            _ = try await client.unsilence(servers: [server.rawValue])
        }
    }

    /// Asks a host's daemon again and again whether it answers: one that hangs does not disconnect.
    private func askForLife(of host: Int) async {
        while !Task.isCancelled {
            try? await EventLoop.sleep(for: Self.answerTime)
            if model.hosts[host].absence != nil, !model.hosts[host].isSilent { continue }
            let alarm = try? TimerSource { [weak self] in
                self?.model.isSilent(host, true)
                self?.redrawing?.needsDrawing()
            }
            alarm?.schedule(after: Self.answerTime)
            let answers = await histories[host].answers()
            alarm?.cancel()
            guard answers, model.hosts[host].isSilent else { continue }
            model.isSilent(host, false)
            redrawing?.needsDrawing()
        }
    }

    /// Shows a message in the last lines.
    private func show(_ message: String?) {
        model.message = message
        draw()
    }

    /// Keeps the changes of the current server as new as its state, if it is one of this host, and reads strips.
    private func loadHistory(of host: Int) async {
        let history = histories[host]
        while !Task.isCancelled {
            // While the daemon is away, each attempt might start ssh.
            if let current = model.current, current.host == host, model.hosts[host].absence == nil {
                if model.changesMustBeRead { history.forget() }
                await loadDetails(of: current, from: history)
            }
            if await !loadStrip(of: host) { try? await EventLoop.sleep(for: Self.frameTime) }
        }
    }

    private func loadDetails(of current: TopServer, from history: TopHistory) async {
        if let state = model.state(of: current), let changes = await history.changes(of: state) {
            if model.current == current { model.show(changes) }
            redrawing?.needsDrawing()
        }
        if model.showsDetails, let state = model.state(of: current),
            let server = await history.description(of: state)
        {
            if model.current == current { model.show(server.check) }
            redrawing?.needsDrawing()
        }
    }

    /// Reads the strip that is due; returns false if there is none.
    private func loadStrip(of host: Int) async -> Bool {
        guard let request = model.dueStrip(of: host, now: TimeText.now) else { return false }
        if let answer = await histories[host].levels(for: request) {
            model.strips.take(answer, to: request, now: TimeText.now)
            redrawing?.needsDrawing()
        } else {
            try? await EventLoop.sleep(for: Self.retryTime)
        }
        return true
    }

    // MARK: Output

    private func draw() {
        if isPaused { return }
        let users = histories[model.current?.host ?? 0].users
        let view = TopView(
            style: terminal.style, isUTF8: terminal.drawsBlocks, size: FullScreen.size, now: TimeText.now,
            place: "statusd \(addresses.map(\.hostName).joined(separator: ", "))", frame: frame,
            users: { users[$0] })
        let lines = view.lines(&model).map { terminal.charset.text($0) }
        let update = screen.update(lines, size: view.size)
        if !update.isEmpty { terminal.raw(update) }
        if model.list.refreshingCount > 0 { frameTimer?.schedule(after: Self.frameTime) }
    }

    private func moveFrame() {
        frame += 1
        draw()
    }
}
