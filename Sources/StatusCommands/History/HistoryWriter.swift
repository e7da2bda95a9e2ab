// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel

/// Writes changes as lines or as JSON.
@EventLoop
struct HistoryWriter {
    private let terminal: Terminal
    private let text: ChangeText
    private let users: UserNames
    private let progress: ProgressIndicator
    private(set) var hasWritten = false
    /// Whether a client caused one of the changes.
    private(set) var hasCaller = false

    /// - Parameter progress: it makes room for lines.
    init(_ terminal: Terminal, namesServers: Bool, namesUsers: Bool, _ progress: ProgressIndicator) {
        self.progress = progress
        self.terminal = terminal
        users = UserNames(areLocal: namesUsers)
        text = ChangeText(style: terminal.style, width: terminal.width, namesServers: namesServers)
    }

    mutating func write(_ change: Change) async {
        hasWritten = true
        if terminal.isJSON { return terminal.json(change) }
        var name: String?
        if let user = change.user {
            hasCaller = true
            await users.learn(user)
            name = users[user]
        }
        let line = text.line(change, user: name, now: TimeText.now)
        progress.interrupt(isBrief: false) { terminal.line(line) }
    }

    /// Names the command that shows what the history does not have: the process of each client.
    ///
    /// Only for people, and only for the system's daemon, whose messages are in the journal.
    func writeHint(_ servers: HistoryServers, daemon: DaemonAddress) {
        guard hasCaller, daemon == .system else { return }
        terminal.hint("for processes, see “\(Self.journalCommand(servers))”")
    }

    nonisolated static func journalCommand(_ servers: HistoryServers) -> String {
        guard let names = servers.names else { return "journalctl -u statusd -o verbose" }
        return "journalctl -u statusd \(names.map { "SERVER=\($0)" }.joined(separator: " ")) -o verbose"
    }
}

/// The names of users, each looked up once.
@EventLoop
final class UserNames {
    private var known: [UInt32: String] = [0: "root"]
    private let areLocal: Bool

    /// - Parameter areLocal: whether they are users of this host; otherwise only root has a name.
    nonisolated init(areLocal: Bool) { self.areLocal = areLocal }

    /// The user's name; the number if it was not learned, or if there is none.
    subscript(user: UInt32) -> String { known[user] ?? String(user) }

    /// The user's name, or the number.
    func name(of user: UInt32) async -> String {
        await learn(user)
        return self[user]
    }

    func learn(_ user: UInt32) async {
        guard areLocal, known[user] == nil else { return }
        // The names may be kept on another machine.
        let found = await BlockingThread.run { (try? UserDatabase.name(ofUser: user)).flatMap { $0 } }
        // A peer that is not statusd may name users without end.
        if known.count >= 10_000 { known = [:] }
        known[user] = found.map { VisibleText.escape($0) } ?? String(user)
    }
}
