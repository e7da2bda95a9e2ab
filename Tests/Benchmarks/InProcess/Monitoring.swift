// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Posts through the ledger and its log, without a socket.
enum Monitoring {
    static var subjects: [Subject] {
        get throws {
            let texts = try (0..<1000).map { try StatusText("Signed In as operator (session \($0))") }
            return [
                Subject(name: "a post noted in the log", count: 300_000) { try post(texts, $0, isRead: false) },
                Subject(name: "a post noted in the log, and read", count: 300_000) {
                    try post(texts, $0, isRead: true)
                },
            ]
        }
    }

    private static func post(_ texts: [StatusText], _ count: Int, isRead: Bool) throws {
        let monitor = StatusMonitor()
        guard let name = ServerName("db") else { return }
        monitor.add(ServerDefinition(name: name, source: "push"))
        let watch = isRead ? try monitor.watch(.server(name)) { _ in } : nil
        _ = watch?.next()  // the snapshot
        var events = 0
        for round in 0..<count {
            try monitor.post(texts[round % texts.count], to: name)
            if round % 100 == 99 { while watch?.next() != nil { events += 1 } }
        }
        precondition(!isRead || events == count)
    }
}
