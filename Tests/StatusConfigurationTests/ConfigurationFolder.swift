// SPDX-License-Identifier: Apache-2.0

import Foundation
import SourceKinds
import StatusConfiguration

/// A directory for configuration files, removed with the test.
final class ConfigurationFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/statusd-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path + "/conf.d", withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to file: String = "statusd.yaml") throws {
        try text.write(toFile: path + "/" + file, atomically: true, encoding: .utf8)
    }

    func load(after former: LoadedConfiguration? = nil) throws -> LoadedConfiguration {
        let loader = ConfigurationLoader(location: ConfigurationLocation(path: path))
        return try loader.load(after: former?.usable ?? UsableFiles())
    }
}
