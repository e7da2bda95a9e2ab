// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

extension Change: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        var kind: ChangeKind?
        var time: Timestamp?
        var name: ServerName?
        var text: StatusText?
        var level: Level?
        var phase: Phase?
        var isStale = false
        var (message, source): (String?, String?)
        var (revision, omitted) = (0, 0)
        var user: UInt32?
        var lasted: Int?
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "kind": kind = try ChangeKind(from: &reader)
            case "at": time = try Timestamp(from: &reader)
            case "server": name = try ServerName?(from: &reader)
            // Escape it again, because the peer may not be statusd.
            case "text": text = try String?(from: &reader).flatMap { StatusText(fitting: $0) }
            case "level": level = try Level?(from: &reader)
            case "phase": phase = try Phase?(from: &reader)
            case "stale": isStale = try Bool?(from: &reader) ?? false
            case "message": message = try reader.visibleTextIfAny()
            case "source": source = try reader.visibleTextIfAny()
            case "revision": revision = try reader.integer()
            case "omitted": omitted = try Int?(from: &reader) ?? 0
            case "user": user = try Int?(from: &reader).flatMap { UInt32(exactly: $0) }
            case "lasted": lasted = try reader.isNull() ? nil : try reader.amount()
            default: try reader.skip()
            }
        }
        guard let kind else { throw .missingMember("kind") }
        guard let time else { throw .missingMember("at") }
        self.init(kind, at: time, revision: revision, omitted: omitted, user: user, lasted: lasted)
        guard let name else { return }
        var state = ServerState(name: name, source: source ?? "unknown", phase: phase ?? .empty, message: message)
        if let text, let level { state.status = Status(text: text, level: level, changedAt: time, updatedAt: time) }
        state.isStale = isStale
        server = state
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("kind", kind)
            writer.member("at", at)
            if let server {
                writer.member("server", server.name)
                writer.member("text", server.status?.text.rawValue)
                writer.member("level", server.status?.level)
                writer.member("phase", server.phase)
                writer.member("stale", server.isStale)
                writer.member("message", server.message)
                writer.member("source", server.source)
            }
            writer.member("revision", revision)
            writer.member("omitted", omitted > 0 ? omitted : nil)
            writer.member("user", user.map { Int($0) })
            writer.member("lasted", lasted)
        }
    }
}
