// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Foundation
import Logging
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import StatusStore
import TestSupport
import Varlink

@testable import StatusDaemon

/// The daemon's parts around a registry, in a temporary directory.
@EventLoop
final class DaemonFixture {
    let monitor: StatusMonitor
    let registry: ServerRegistry
    let factory: SourceFactory
    let directories: DaemonDirectories
    /// The IDs of the existing users.
    var users: [String: UInt32] = ["alice": 1000]
    /// The warnings of the last reload.
    private(set) var warnings: [MonitorInterface.Failure] = []
    /// The server that the last configuration selected.
    private(set) var selected: String?
    /// The ID of the group statusd; nil if the group does not exist.
    var group: UInt32?
    let recorder = LogRecorder()
    let logger: Logger

    /// - Parameter restored: the saved data of an earlier run.
    init(restored: StoreContents = StoreContents()) throws {
        monitor = StatusMonitor(restoring: restored.memory)
        let folder = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"
        directories = try DaemonDirectories(environment: ["RUNTIME_DIRECTORY": folder], isRoot: false)
        try FileManager.default.createDirectory(atPath: directories.notify, withIntermediateDirectories: true)
        logger = recorder.logger
        factory = SourceFactory(
            monitor: monitor, runner: SourceRunner(), directories: directories, logger: logger)
        registry = ServerRegistry(monitor: monitor, factory: factory, logger: logger, restored: restored)
    }

    /// A daemon that continues with the state of this one.
    func restarted() throws -> DaemonFixture {
        let names = monitor.states.map(\.name)
        var contents = StoreContents()
        contents.memory = LedgerMemory(
            log: monitor.takeUnsaved().log, servers: monitor.save(names).compactMap { $0 }, isOfThisBoot: true)
        contents.sources = Dictionary(uniqueKeysWithValues: names.map { ($0, registry.memory(of: $0)) })
        contents.configuredSelection = registry.configuration.select
        return try DaemonFixture(restored: contents)
    }

    isolated deinit {
        registry.close()
        try? FileManager.default.removeItem(atPath: directories.runtime)
    }

    /// Applies a configuration in YAML to the registry; returns one word for each change.
    @discardableResult
    func apply(_ text: String) throws -> [String] {
        let file = directories.runtime + "/statusd.yaml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let loaded = try ConfigurationLoader(location: .file(file)).load()
        let (users, group) = (users, group)
        let accounts = Accounts(
            of: loaded.configuration.servers.values.compactMap(\.source), before: Accounts(),
            user: { name throws(IOError) in users[name] },
            group: { _ throws(IOError) in group })
        let reply = registry.apply(registry.plan(ReadConfiguration(loaded, accounts)))
        warnings = reply.warnings ?? []
        selected = reply.selected
        return reply.added.map { "+\($0)" } + reply.changed.map { "~\($0)" } + reply.removed.map { "-\($0)" }
    }

    func state(_ server: String) -> ServerState? { ServerName(server).flatMap { try? monitor.state(of: $0) } }

    func post(_ text: String, to server: String) throws {
        guard let name = ServerName(server) else { return }
        _ = try registry.post(try StatusText(text), level: .ok, to: name)
    }

    /// The users that may send to a server's notify socket, according to its access control list.
    func senders(to server: String) -> Set<UInt32> { permitted(2, server) }

    /// The groups that may send to a server's notify socket.
    func senderGroups(to server: String) -> Set<UInt32> { permitted(8, server) }

    private func permitted(_ kind: UInt8, _ server: String) -> Set<UInt32> {
        var list = [UInt8](repeating: 0, count: 4096)
        let count = getxattr("\(directories.notify)/\(server)", "system.posix_acl_access", &list, list.count)
        var senders: Set<UInt32> = []
        // A header of four bytes, then eight bytes for each entry: the kind, the rights and the ID.
        for start in stride(from: 4, to: count, by: 8) where list[start] == kind {
            senders.insert(list.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self) })
        }
        return senders
    }

    /// Whether a server's notify socket exists.
    func hasNotifySocket(_ server: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directories.notify)/\(server)")
    }
}
