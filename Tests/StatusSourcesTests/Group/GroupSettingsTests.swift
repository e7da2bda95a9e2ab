// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import Testing

@Suite("Settings of a group") struct GroupSettingsTests {
    @Test(
        "names, patterns, and how many members must be down",
        arguments: [
            ("[web, db]", ["web", "db"], [], nil), ("[web, 'db*', web]", ["web"], ["db*"], nil),
            ("{ of: ['[ab]?'] }", [], ["[ab]?"], nil), ("{ of: [web, db], critical: all }", ["web", "db"], [], .all),
            ("{ critical: 2, of: [web, db] }", ["web", "db"], [], .count(2)),
            ("{ of: ['*'], critical: 1000 }", [], ["*"], .count(1000)),
        ] as [(String, [String], [String], GroupRule.Quorum?)])
    func reads(_ value: String, _ names: [String], _ patterns: [String], _ quorum: GroupRule.Quorum?) throws {
        let settings = try GroupSettings.read("group: \(value)").settings
        #expect(
            settings
                == GroupSettings(
                    GroupRule(names: names.compactMap { ServerName($0) }, patterns: patterns, quorum: quorum)))
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "", "web", "[]", "[[a]]", "['']", "['a b']", "['a/*']", "{ critical: 1 }", "{ of: a }",
            "{ of: [a], critical: some }", "{ of: [a], critical: 0 }", "{ of: [a, a], critical: 2 }",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try GroupSettings.read("group: \(value)") }
    }
}
