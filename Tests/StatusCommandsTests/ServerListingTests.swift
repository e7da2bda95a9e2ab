// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

@Suite("The table of servers") struct ServerListingTests {
    private static let plain = Style(isTerminal: false, environment: ["LANG": "C.UTF-8"])
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func server(_ name: String, _ text: String, source: String = "push") throws -> ServerState {
        var state = ServerState(name: try #require(ServerName(name)), source: source, phase: .loaded)
        let since = Timestamp(milliseconds: now.milliseconds - 200_000)
        state.status = Status(text: try StatusText(text), level: .ok, changedAt: since, updatedAt: since)
        return state
    }

    private func lines(_ servers: [ServerState], width: Int?, places: Bool = false, host: String? = nil) -> [String] {
        ServerListing(style: Self.plain, width: width, placesColumns: places, now: now).lines(
            servers.map { ServerListing.Row(host: host, server: $0) }, legend: true)
    }

    @Test(
        "a terminal shows the columns for which it has room, and each server on one line",
        arguments: [
            (nil, "SERVER STATUS LEVEL SINCE SOURCE"), (200, "SERVER STATUS LEVEL SINCE AGE SOURCE"),
            (80, "SERVER STATUS LEVEL AGE SOURCE"), (60, "SERVER STATUS LEVEL AGE"), (40, "SERVER STATUS LEVEL"),
        ] as [(Int?, String)])
    func columns(width: Int?, header: String) throws {
        let long = try server("backup-of-the-database@rack-4.example.org", String(repeating: "日本語 ", count: 100))
        let lines = lines([long, try server("db", "Signed In")], width: width)
        #expect(lines[0].split(separator: " ").joined(separator: " ") == header)
        if let width { #expect(lines.allSatisfy { $0.displayWidth <= width }, "\(lines)") }
        #expect(lines[2].contains(width ?? 0 >= 50 ? "  3min 20s" : "Signed In"))
    }

    @Test("a long name leaves room for the texts, and is cut only if they need it", arguments: [60, 80, 120, 200])
    func longName(width: Int) throws {
        let name = "a-very-long-server-name-that-goes-on-and-on.example.com:8080"
        let text = String(repeating: "connection refused ", count: 10)
        let cut = lines([try server("db", text), try server(name, "up")], width: width)
        #expect(cut[1].contains(text.prefix(width / 4)))
        #expect(cut[2].contains(name.prefix(width * 3 / 10 - 1)))
        #expect(lines([try server(name, "up")], width: 120)[1].contains(name))
    }

    @Test("steady columns are as wide as the whole list needs, and the dates in them are short")
    func steady() throws {
        let all = try [server("db", "Signed In"), server("login-server", "up for 20 days")]
        var table = ServerListing(style: Self.plain, width: 200, now: now)
        var widths = ServerListing.SteadyWidths()
        for server in all { widths.include(name: server.name.rawValue.utf8.count, text: server.headline.utf8.count) }
        widths.strip = 10
        table.steady = widths
        let row = ServerListing.Row(server: all[0], strip: "▁▁█▁▁▁▁▁▁▁")
        let since = TimeText.brief(try #require(all[0].status).levelChangedAt, now: now)
        #expect(
            table.lines([row], legend: false) == [
                "  db            Signed In         ok        \(since.fitted(to: 11))  3min 20s   push    ▁▁█▁▁▁▁▁▁▁"
            ])
        table.steady?.include(name: 0, text: 400)
        #expect(table.lines([row], legend: false)[0].displayWidth == 200)
    }

    @Test("columns line up below wide characters, emoji and combining ones")
    func alignment() throws {
        let texts = ["Signed In", "日本語", "🚀 up", "e\u{301}te\u{301}", "👩‍👩‍👧‍👦 family", "🇩🇪 ❤\u{FE0F} 👍🏽"]
        let lines = lines(try texts.map { try server("db", $0) }, width: nil)
        let widths = lines.map { $0.displayWidth }
        #expect(widths.dropFirst().allSatisfy { $0 == widths[1] }, "\(lines)")
    }

    @Test("where terminals do not agree on a width, the next column is placed by moving the cursor")
    func places() throws {
        let family = try server("db", "👩‍👩‍👧‍👦")
        #expect(lines([family], width: 60, places: true)[1].contains("👩‍👩‍👧‍👦    \u{1b}[19Gok"))
        #expect(!lines([try server("db", "日本語")], width: 60, places: true)[1].contains("\u{1b}"))
        #expect(!lines([family], width: nil)[1].contains("\u{1b}"))
    }

    @Test("servers of several hosts have their host before them")
    func hosts() throws {
        let lines = lines([try server("db", "Signed In")], width: 80, host: "web1")
        #expect(lines[0].hasPrefix("  HOST  SERVER  STATUS "))
        #expect(lines[1].hasPrefix("  web1  db      Signed In "))
    }
}
