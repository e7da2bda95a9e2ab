// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import Systemd
import Varlink

@testable import StatusDaemon

/// The daemon's parts around a registry, in a temporary directory.
@EventLoop
final class DaemonFixture {
    let monitor = StatusMonitor()
    let registry: ServerRegistry
    let factory: SourceFactory
    let directories: DaemonDirectories
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        let folder = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"
        directories = try DaemonDirectories(environment: ["RUNTIME_DIRECTORY": folder], isRoot: false)
        try FileManager.default.createDirectory(atPath: directories.notify, withIntermediateDirectories: true)
        factory = SourceFactory(
            monitor: monitor, runner: SourceRunner(), directories: directories, logger: logger)
        registry = ServerRegistry(monitor: monitor, factory: factory, logger: logger)
    }

    isolated deinit {
        registry.close()
        try? FileManager.default.removeItem(atPath: directories.runtime)
    }

    /// Has the registry follow a configuration, written as YAML; returns what became another, a word for each.
    @discardableResult
    func apply(_ text: String) throws -> [String] {
        let file = directories.runtime + "/statusd.yaml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let loaded = try ConfigurationLoader(location: .file(file)).load()
        let accounts = Accounts(
            of: loaded.configuration, before: Accounts(),
            user: { name throws(SystemdError) in name == "alice" ? 1000 : nil },
            group: { _ throws(SystemdError) in nil })
        let reply = registry.apply(ReadConfiguration(loaded: loaded, accounts: accounts))
        return reply.added.map { "+\($0)" } + reply.changed.map { "~\($0)" } + reply.removed.map { "-\($0)" }
    }

    func state(_ server: String) -> ServerState? { ServerName(server).flatMap { try? monitor.state(of: $0) } }

    func post(_ text: String, to server: String) throws {
        guard let name = ServerName(server) else { return }
        _ = try registry.post(try StatusText(text), level: .ok, to: name)
    }

    /// Whether a server's notify socket is there.
    func hasNotifySocket(_ server: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directories.notify)/\(server)")
    }
}
