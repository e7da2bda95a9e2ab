// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import StatusInterface
import StatusModel
import Varlink

/// The command `statusctl watch`.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow the selected server from server to server; with a name that one, with --all every one.",
        discussion: "The current state comes first. Ends with status 0 when interrupted.\n\n" + ExitStatus.table)

    @OptionGroup var options: ClientOptions

    @Argument(help: "The server's name.")
    var name: String?

    @Flag(help: "Follow every server.")
    var all = false

    @Flag(help: "Show, too, what was posted again unchanged.")
    var updates = false

    @Flag(inversion: .prefixedNo, help: "Wait for the daemon when it goes away, and go on.")
    var reconnect = true

    func validate() throws {
        if all, name != nil { throw ValidationError("name a server, or give --all, not both") }
    }

    func run() async throws {
        for interruption in [SIGINT, SIGTERM] { signal(interruption) { _ in _exit(0) } }
        let reader = await PipeReader()
        defer { withExtendedLifetime(reader) {} }
        try await options.perform { client, terminal in
            var follower = Follower(
                parameters: WatchParameters(server: name, all: all ? true : nil, updates: updates ? true : nil),
                terminal: terminal)
            var next: MonitorClient? = client
            while let client = next {
                do {
                    try await follower.follow(client)
                } catch let error as VarlinkClientError where error.code == .closed && reconnect {
                    follower.disconnected()
                }
                next = reconnect ? try await waitForDaemon() : nil
            }
            throw VarlinkClientError(.closed, "the daemon has ended the stream")
        }
    }

    /// Tries again, more and more rarely, until the daemon is back.
    private func waitForDaemon() async throws -> MonitorClient {
        let address = try options.resolvedAddress()
        var pause = Duration.milliseconds(100)
        while true {
            do throws(VarlinkClientError) {
                return try await MonitorClient.connect(to: address)
            } catch {
                guard error.code == .noService else { throw error }
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(2))
        }
    }
}

/// Shows one stream after another as if they were one.
private struct Follower {
    var parameters: WatchParameters
    let terminal: Terminal
    /// Whether the user was told that the daemon went away, and not yet that it is back.
    private var isAway = false

    init(parameters: WatchParameters, terminal: Terminal) {
        self.parameters = parameters
        self.terminal = terminal
    }

    mutating func follow(_ client: MonitorClient) async throws {
        for try await reply in try await client.watch(parameters) {
            // Said with the first event only: a daemon that is on its way down may still accept a connection.
            reconnected()
            // Where the next stream goes on, if this one breaks.
            parameters.since = reply.event.cursor
            show(reply.event)
        }
    }

    mutating func disconnected() {
        guard !isAway else { return }
        isAway = true
        terminal.remark("the daemon went away; waiting for it to come back")
        if terminal.isJSON { terminal.json { $0.member("kind", "disconnected") } }
    }

    private mutating func reconnected() {
        guard isAway else { return }
        isAway = false
        terminal.remark("the daemon is back")
        if terminal.isJSON { terminal.json { $0.member("kind", "reconnected") } }
    }

    private func show(_ event: Event) {
        if terminal.isJSON { return terminal.json(event) }
        for line in ServerText.lines(for: event, style: terminal.style) { terminal.line(line) }
    }
}
