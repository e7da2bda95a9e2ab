// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import Testing

@Suite("The configuration of groups") struct GroupConfigurationTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func load(_ text: String) throws -> LoadedConfiguration {
        try folder.write(text)
        return try folder.load()
    }

    @Test("a group that is a member of itself is an error with the way, and so is each group on that way")
    func loops() throws {
        let loaded = try load(
            """
            servers:
              a: { group: [web, b] }
              b: { group: [c] }
              c: { group: [web, a] }
              d: { group: [a] }
              e: { group: [e] }
              web: { push: true }
            """)
        let reasons = loaded.problems.map { "\($0.origin.line ?? 0) \($0.server?.rawValue ?? ""): \($0.reason)" }
        func reason(_ way: String) -> String {
            "a group must not be a member of itself: \(way); remove one of these members"
        }
        #expect(
            reasons == [
                "2 a: " + reason("a → b → c → a"), "3 b: " + reason("b → c → a → b"),
                "4 c: " + reason("c → a → b → c"), "6 e: " + reason("e → e"),
            ])
        #expect(loaded.configuration.groups.keys.map(\.rawValue) == ["d"])
    }

    @Test("a member that is not configured is a warning, unless a post may add it")
    func unknown() throws {
        let text = "servers: { all: { group: [wbe, 'db*', 'w*'] }, web: { push: true } }"
        #expect(
            try load(text).problems.map(\.reason) == [
                "“group” names a server that is not configured: wbe; did you mean “web”?",
                "no server is configured that matches “db*” in “group”",
            ])
        #expect(try load("accept: any\n" + text).problems.isEmpty)
    }

    @Test("a group can be refreshed if a member can, also by way of other groups, and by a pattern")
    func refreshed() throws {
        let servers = try load(
            """
            servers:
              a: { group: [b, push] }
              b: { group: [c] }
              c: { group: ['tcp*'] }
              d: { group: [push] }
              push: { push: true }
              tcp1: { tcp: "a:1" }
              tcp2: { tcp: "a:2" }
            """
        ).configuration.servers
        let refreshed = servers.filter { !$0.value.refreshedMembers.isEmpty }
        #expect(
            Dictionary(
                uniqueKeysWithValues: refreshed.map { ($0.key.rawValue, $0.value.refreshedMembers.map(\.rawValue)) })
                == ["a": ["b"], "b": ["c"], "c": ["tcp1", "tcp2"]])
    }
}
