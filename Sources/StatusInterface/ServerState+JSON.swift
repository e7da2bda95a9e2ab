// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

extension ServerState: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        // Members may be in any order, so the server is created after all of them have been read.
        var name: ServerName?
        var (source, description, message): (String?, String?, String?)
        var phase: Phase?
        var status: Status?
        var (isStale, isRestored, isRefreshable, isRefreshing, isSelected) = (false, false, false, false, false)
        var revision = 0
        var silence: Silence?
        var values: [MeasuredValue] = []
        var check: CheckRun?
        var (group, parent): (ServerName?, ServerName?)
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "name": name = try ServerName(from: &reader)
            case "source": source = try reader.visibleText()
            case "phase": phase = try Phase(from: &reader)
            case "description": description = try reader.visibleTextIfAny()
            case "status": status = try Status?(from: &reader)
            case "message": message = try reader.visibleTextIfAny()
            case "stale": isStale = try reader.boolean()
            case "refreshable": isRefreshable = try reader.boolean()
            case "refreshing": isRefreshing = try reader.boolean()
            case "selected": isSelected = try reader.boolean()
            case "revision": revision = try reader.integer()
            case "restored": isRestored = try Bool?(from: &reader) ?? false
            case "silence": silence = try Silence?(from: &reader)
            case "values": values = try [MeasuredValue]?(from: &reader) ?? []
            case "check": check = try CheckRun.read(from: &reader)
            case "group": group = try ServerName?(from: &reader)
            case "parent": parent = try ServerName?(from: &reader)
            default: try reader.skip()
            }
        }
        guard let name else { throw .missingMember("name") }
        guard let source else { throw .missingMember("source") }
        guard let phase else { throw .missingMember("phase") }
        self.init(
            name: name, description: description, source: source, phase: phase, message: message,
            isRefreshable: isRefreshable)
        self.status = status
        (self.isStale, self.isRestored) = (isStale, isRestored)
        (self.isRefreshing, self.isSelected) = (isRefreshing, isSelected)
        self.revision = revision
        (self.silence, self.values, self.check) = (silence, values, check)
        (self.group, self.parent) = (group, parent)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("description", description)
            writer.member("source", source)
            writer.member("phase", phase)
            writer.member("status", status)
            writer.member("message", message)
            writer.member("stale", isStale)
            writer.member("refreshable", isRefreshable)
            writer.member("refreshing", isRefreshing)
            writer.member("selected", isSelected)
            writer.member("revision", revision)
            if isRestored { writer.member("restored", true) }
            guard hasSupplement else { return }
            if let group { writer.member("group", group) }
            if let parent { writer.member("parent", parent) }
            if let silence { writer.member("silence", silence) }
            if !values.isEmpty { writer.member("values", values) }
            guard let check else { return }
            writer.member("longOutput", check.output?.longOutput)
            writer.member("performanceData", check.output?.performanceData)
            writer.member("check", check)
        }
    }
}

extension Silence: JSONReadable, JSONWritable {
    public convenience init(from reader: inout JSONReader) throws(JSONError) {
        var since: Timestamp?
        var until: Timestamp?
        var user: UInt32?
        var reason: String?
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "since": since = try Timestamp(from: &reader)
            case "until": until = try Timestamp?(from: &reader)
            case "user": user = try Int?(from: &reader).flatMap { UInt32(exactly: $0) }
            case "reason": reason = try reader.visibleTextIfAny()
            default: try reader.skip()
            }
        }
        guard let since else { throw .missingMember("since") }
        self.init(since: since, until: until, user: user, reason: reason)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("since", since)
            writer.member("until", until)
            writer.member("user", user.map { Int($0) })
            writer.member("reason", reason)
        }
    }
}
