// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import Testing

@testable import StatusDaemon

@Suite("The plan of a reload") struct ReloadPlanTests {
    /// A configuration in which the servers have these sources: `a: push b: unit`.
    private func configuration(_ text: String, acceptsAny: Bool = true) throws -> Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = acceptsAny
        for (line, entry) in text.split(separator: " ").enumerated() {
            let parts = entry.split(separator: ":")
            let settings: (any SourceSettings)? =
                switch parts[1] {
                case "push": PushSettings()
                case "unit": UnitSettings(unit: "a.service")
                default: nil
                }
            configuration.servers[try #require(ServerName(String(parts[0])))] = ServerConfiguration(
                source: settings.map(AnySourceSettings.init), placeholder: "", failure: settings == nil ? "wrong" : nil,
                origin: Origin(file: text, line: line))
        }
        return configuration
    }

    @Test(
        "lists what is added, changed, removed, and restarted",
        arguments: [
            ("", "", "a:push", "+a"), ("a:push", "", "a:push", ""), ("a:push b:unit", "", "b:unit", "-a"),
            ("a:push", "", "a:unit", "~a"), ("a:push", "", "a:wrong", "~a"), ("a:wrong", "", "a:wrong", ""),
            ("a:push", "g", "a:push g:unit", "~g"), ("a:push", "g", "a:push", ""), ("", "g", "g:push", "~g"),
            ("c:push a:push", "", "b:push a:unit d:push", "-c ~a +b +d"),
            ("r:push", "", "r:push", "!r"), ("r:push", "", "r:unit", "~r"), ("r:push", "", "", "-r"),
        ])
    func table(_ old: String, _ guests: String, _ new: String, _ expected: String) throws {
        let guests = Set(guests.split(separator: " ").compactMap { ServerName(String($0)) })
        let plan = ReloadPlan(
            from: try configuration(old).servers, guests: guests, to: try configuration(new),
            mustRestart: { $0.rawValue == "r" })
        let steps = plan.inOrder.map { name, step in
            let sign =
                switch step {
                case .add: "+"
                case .change: "~"
                case .restart: "!"
                case .remove: "-"
                }
            return sign + name.rawValue
        }
        #expect(steps.joined(separator: " ") == expected)
    }

    @Test("servers that were added by posts are removed when only configured ones may post")
    func guests() throws {
        let guests = Set(["g", "h"].compactMap { ServerName($0) })
        let plan = ReloadPlan(from: [:], guests: guests, to: try configuration("g:push", acceptsAny: false))
        #expect(plan.reply.changed == ["g"])
        #expect(plan.reply.removed == ["h"])
    }
}
