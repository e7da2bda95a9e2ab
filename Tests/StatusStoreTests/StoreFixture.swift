// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import StatusMonitor
import StatusStore
import Testing

/// A state directory that is removed with this object.
final class StoreFixture {
    let directory: String

    init() throws {
        var template = Array("/tmp/statusd-store-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(reason: "no temporary directory") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in files { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    struct Failure: Error { var reason: String }

    var files: [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    var path: String { "\(directory)/statusd.sqlite" }

    func store(boot: String = "this") -> StatusStore { StatusStore(directory: directory, boot: boot) }

    /// A store that was opened without a failure.
    func openStore(at time: Int64 = 0) throws -> StatusStore {
        let store = store()
        if let failure = store.open(at: moment(time)).failure { throw failure }
        return store
    }
}

func name(_ text: String) -> ServerName {
    guard let name = ServerName(text) else { preconditionFailure("\(text) is no name") }
    return name
}

/// A time in milliseconds after the beginning, by both clocks.
func moment(_ milliseconds: Int64) -> Moment {
    Moment(wall: Timestamp(milliseconds: milliseconds), boot: .milliseconds(milliseconds))
}

func state(_ server: String, _ text: String, level: Level = .ok, at time: Int64 = 0) throws -> ServerState {
    var state = ServerState(name: name(server), source: "push", phase: .loaded)
    let time = Timestamp(milliseconds: time)
    state.status = Status(text: try StatusText(text), level: level, changedAt: time, updatedAt: time)
    return state
}

func stored(_ state: ServerState) -> StoredServer {
    StoredServer(
        ServerMemory(
            state: state, definition: ServerDefinition(name: state.name, source: state.source), followed: Revisions(),
            refreshedAt: .zero))
}

func batch(_ servers: [StoredServer] = [], changes: [Change] = [], at time: Int64 = 0, revision: Int = 1) -> StoreBatch
{
    var batch = StoreBatch(
        log: LogMemory(epoch: Epoch("0123456789abcdef0123456789abcdef"), revision: revision, notedAt: moment(time)))
    // The state must agree with the history.
    batch.servers = servers.isEmpty ? changes.compactMap(\.server).map(stored) : servers
    batch.changes = changes
    return batch
}
