// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import Testing
import YAML

extension SourceSettings {
    /// Reads settings from a server's entry, such as `push: true`, with the problems that do not make it invalid.
    static func read(_ entry: String) throws -> (settings: Self?, problems: [Problem]) {
        let entries = try #require(try YAMLDocument.read(entry)?.mapping)
        let value = try #require(entries.first { $0.key.string == key }?.value)
        var reader = SettingsReader(NodeReader(file: "test"), server: try #require(ServerName("web")))
        let settings = try read(value, with: &reader)
        return (settings, reader.problems)
    }
}
