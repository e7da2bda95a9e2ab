// SPDX-License-Identifier: Apache-2.0

import Glibc
import NotificationStreams

struct StatusUpdate: Sendable { var status: String }

extension NotificationName where UserInfo == StatusUpdate {
    static var didUpdateStatus: Self { Self() }
}

/// A server that posts updates of its status, and loads its first status once.
final class Server: Sendable, Equatable {
    let name: String
    let first: SharedLoad<String, Never>

    init(_ name: String) {
        self.name = name
        first = SharedLoad(keepsValue: true) {
            show("\(name) loads")
            return "idle"
        }
    }

    static func == (left: Server, right: Server) -> Bool { left === right }
}

func show(_ line: String) {
    // Not print(_:), which needs flushing. Flushing would wait for readLine(), which holds the lock of standard input.
    _ = write(STDOUT_FILENO, line + "\n", line.utf8.count + 1)
}

/// Shows the status of the selected server.
///
/// It reads the commands `select NAME` and `post NAME STATUS` from standard input.
@main
struct Main {
    static func main() async throws {
        let (selections, selection) = AsyncStream.makeStream(of: Server.self)
        // Not on the main actor, which waits for input.
        let following = Task { @concurrent in
            try await forLatest(of: selections) { server in
                // The observer is registered first, so that no update after the first status is missed.
                var updates = NotificationBus.default.notifications(named: .didUpdateStatus, object: server)
                    .makeAsyncIterator()
                show("\(server.name): \(try await server.first.load())")
                while let update = await updates.next() { show("\(server.name): \(update.status)") }
            }
        }
        var servers: [String: Server] = [:]
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count >= 2 else { continue }
            let server = servers[words[1]] ?? Server(words[1])
            servers[words[1]] = server
            if words[0] == "select" { selection.yield(server) }
            if words[0] == "post", words.count == 3 {
                NotificationBus.default.post(
                    name: .didUpdateStatus, object: server, userInfo: StatusUpdate(status: words[2]))
            }
        }
        // Cancels the body, and waits for it.
        following.cancel()
        try? await following.value
    }
}
