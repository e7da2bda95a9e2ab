// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport

/// The servers whose history a command shows.
enum HistoryServers: Equatable {
    case all
    case named([ServerName])
    case selected(ServerName)

    /// Whether each line must name its server, because the user has not named just one.
    var mustBeNamed: Bool {
        switch self {
        case .all, .selected: true
        case .named(let names): names.count > 1
        }
    }

    /// Their names; nil for all.
    var names: [ServerName]? {
        switch self {
        case .all: nil
        case .named(let names): names
        case .selected(let name): [name]
        }
    }

    /// The servers that the user named, each once; without a name, the selected one.
    init(_ context: ClientCommand.Context) async throws {
        if context.arguments[HistoryCommand.all] {
            self = .all
            return
        }
        var names: [ServerName] = []
        for text in context.arguments[Options.servers] {
            guard let name = ServerName(text) else { throw MonitorError.noSuchServer(server: text, reason: nil) }
            if !names.contains(name) { names.append(name) }
        }
        self = names.isEmpty ? .selected(try await context.client.describe().server.name) : .named(names)
    }

    /// `db`, `db or web`, or `any server`.
    var phrase: String {
        guard let names, let last = names.last else { return "any server" }
        if names.count == 1 { return last.rawValue }
        return names.dropLast().map(\.rawValue).joined(separator: ", ") + " or \(last)"
    }
}
