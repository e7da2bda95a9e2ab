// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusSources
import Testing
import YAML

@Suite("The kinds of sources") struct SourceKindsTests {
    @Test("the settings of each kind can make a source")
    func making() {
        for kind in SourceKinds.all { #expect(kind is any SourceMaking.Type, "\(kind)") }
    }

    @Test("no two kinds have the same key")
    func keys() {
        #expect(Set(SourceKinds.keys).count == SourceKinds.all.count)
    }
}

extension SourceSettings {
    /// Reads settings from a server's entry, such as `push: true`, and the problems that do not make them invalid.
    static func read(_ entry: String) throws -> (settings: Self?, problems: [Problem]) {
        let entries = try #require(try YAMLDocument.read(entry)?.mapping)
        let value = try #require(entries.first { $0.key.string == key }?.value)
        var reader = SettingsReader(NodeReader(file: "test"), server: try #require(ServerName("web")))
        let settings = try read(value, with: &reader)
        return (settings, reader.problems)
    }
}
