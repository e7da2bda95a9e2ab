// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1
import StatusInterface
import StatusMetrics
import StatusModel
import StatusSupport
import Varlink

/// The answers that need the daemon: the same JSON as `statusctl --json`.
struct API {
    let site: Site
    let target: RequestTarget
    let request: Request
    let visitor: Visitor
    let loop: any NIOCore.EventLoop
    /// How long the daemon may take, except for a refresh.
    static let timeout = TimeAmount.seconds(30)
    /// The maximum number of servers in one summary, and the maximum length of an answer in bytes.
    static let (mostSummaries, longestAnswer) = (64, 4 << 20)
    /// The number of connections to the daemon for one request, so that others can ask meanwhile.
    static let mostConnections = 8

    func send(_ response: Response) { visitor.send(response, to: request) }

    // MARK: Reading

    func read() {
        let names = target.path.dropFirst()
        switch (names.first, names.count) {
        case ("list", 1): list()
        case ("alerts", 1): call("Alerts", NoMembers())
        case ("status", 2): call("Describe", MonitorInterface.DescribeParameters(server: names.last))
        case ("status", 1): call("Describe", MonitorInterface.DescribeParameters())
        case ("history", 1), ("history", 2): history(of: names.count == 2 ? names.last : nil)
        case ("summary", 1): summary()
        default: send(.text(.notFound, "there is nothing at this address"))
        }
    }

    /// One call with one reply, which is the answer.
    func call(_ method: String, _ parameters: some JSONStructure) {
        var found: Response?
        perform([message(method, parameters)]) { reply in
            found = reply.error.map { failure($0, reply.parameters) } ?? .json(reply.parameters)
        } then: {
            send(found ?? unavailable)
        }
    }

    /// The changes as lines of JSON: first the state that held at `since`.
    func history(of server: String?) {
        var parameters = MonitorInterface.HistoryParameters()
        if let server {
            guard let name = ServerName(server) else { return send(invalid("the name of a server \(ServerName.rule)")) }
            parameters.server = name
        } else {
            parameters.all = true
        }
        guard let since = time("since"), let until = time("until") else { return }
        (parameters.since, parameters.until) = (since, until)
        if let text = target["limit"] {
            guard let limit = Int(text), 1...10_000 ~= limit else {
                return send(invalid("limit must be from 1 to 10000"))
            }
            parameters.limit = limit
        } else {
            parameters.limit = 1000
        }
        if let text = target["level"] {
            guard let level = Level(rawValue: text) else { return send(invalid("level must be ok, warning …")) }
            parameters.level = level
        }
        var messages = [message("History", parameters, more: true)]
        if let since, server != nil, parameters.level == nil {
            var before = parameters
            (before.since, before.limit) = (nil, 1)
            before.until = Timestamp(milliseconds: since.milliseconds - 1)
            messages.insert(message("History", before, more: true), at: 0)
        }
        lines(messages, separate: "change")
    }

    /// A summary for each `server` parameter, as lines of JSON in the same order.
    func summary() {
        let names = target.values("server")
        guard !names.isEmpty, names.count <= Self.mostSummaries else {
            return send(invalid("name 1 to \(Self.mostSummaries) servers, as in summary?server=db&server=web"))
        }
        guard let since = time("since"), let until = time("until") else { return }
        let buckets = target["buckets"].flatMap { Int($0) }
        guard target["buckets"] == nil || buckets.map({ 1...1000 ~= $0 }) == true else {
            return send(invalid("buckets must be from 1 to 1000"))
        }
        var messages: [[UInt8]] = []
        for name in names {
            guard let name = ServerName(name) else { return send(invalid("the name of a server \(ServerName.rule)")) }
            let parameters = MonitorInterface.SummaryParameters(
                server: name, since: since, until: until, buckets: buckets)
            messages.append(message("Summary", parameters))
        }
        lines(messages)
    }

    /// Answers with one line of JSON for each reply; errors of one of several calls are lines, too.
    ///
    /// - Parameter member: what a line is of the reply; nil for all of it. Replies without it are left out.
    func lines(_ messages: [[UInt8]], separate member: StaticString? = nil) {
        var body = ByteBuffer()
        var failed: Response?
        perform(messages, through: site.histories) { reply in
            guard body.readableBytes <= Self.longestAnswer else {
                failed = .text(.payloadTooLarge, "the answer is too long; ask for a shorter time")
                return
            }
            if let error = reply.error {
                if member != nil || messages.count == 1 { failed = failed ?? failure(error, reply.parameters) }
                body.writeBytes(Self.error(error, reply.parameters))
            } else if let member {
                guard let line = Self.member(member, of: reply.parameters) else { return }
                body.writeBytes(line)
            } else {
                body.writeBytes(reply.parameters)
            }
            body.writeInteger(UInt8(ascii: "\n"))
        } then: {
            send(failed ?? Response(.ok, "application/x-ndjson", body))
        }
    }

    /// A member of an object, as it is in the text; nil if it is missing or null.
    static func member(_ name: StaticString, of object: [UInt8]) -> [UInt8]? {
        var found: [UInt8]?
        try? JSONReader.read(object) { reader throws(JSONError) in
            try reader.object { member, reader throws(JSONError) in
                if member == name { found = try reader.raw() } else { try reader.skip() }
            }
        }
        return found == Array("null".utf8) ? nil : found
    }

    /// A time of the query; nil after an answer that it is invalid.
    func time(_ name: String) -> Timestamp?? {
        guard let text = target[name] else { return .some(nil) }
        if let time = Timestamp(text) { return .some(time) }
        send(invalid("\(name) must be a time such as 2026-11-29T12:00:00Z"))
        return nil
    }

    // MARK: Health and metrics

    func health() {
        perform([DaemonCalls.message("org.varlink.service.GetInfo", NoMembers())], within: .seconds(2)) { _ in
        } then: {
            send(site.servers == nil ? .text(.serviceUnavailable, "statusd does not answer") : .text(.ok, "ok"))
        }
    }

    /// The text of `statusctl metrics`, in the format that the visitor prefers.
    func metrics() {
        var servers: [ServerState]?
        var daemon: MonitorInterface.GetCursorReply?
        var totals: MetricsReport.Totals?
        var messages = [message("GetCursor", NoMembers())]
        if let all = site.servers, all.isHub {
            servers = all.states.values.sorted { $0.name < $1.name }
            totals = MetricsReport.Totals(counts: all.counts, hostServers: all.hostServers)
        } else {
            messages.append(message("List", NoMembers()))
        }
        perform(messages) { reply in
            if reply.call == 0 {
                daemon = Self.read(reply)
            } else {
                let list: MonitorInterface.ListReply? = Self.read(reply)
                servers = list?.servers
            }
        } then: {
            guard let servers, let daemon else { return send(unavailable) }
            let wantsOpen = request.head.headers["accept"].contains { $0.contains("openmetrics") }
            let format = wantsOpen ? MetricsFormat.openMetrics : .prometheus
            let text = MetricsReport(servers, totals: totals, daemon).text(format)
            send(Response(.ok, format.contentType, ByteBuffer(string: text)))
        }
    }

    static func read<Reply: JSONStructure>(_ reply: DaemonCalls.Reply) -> Reply? {
        guard reply.error == nil else { return nil }
        return try? JSONReader.read(reply.parameters) { reader throws(JSONError) in
            reader.skipsUnknownMembers = true
            return try Reply(from: &reader)
        }
    }

    // MARK: Calls

    /// Who the visitor is, as far as it is known: the address, or who a proxy says that it is.
    var name: String { visitor.address ?? Site.user(request.head) ?? "" }

    func message(_ method: String, _ parameters: some JSONStructure, more: Bool = false) -> [UInt8] {
        DaemonCalls.message(MonitorInterface.qualified(method), parameters, more: more)
    }

    /// Makes calls; withdraws them if the visitor leaves.
    ///
    /// After a failure or a timeout, the answer is ``unavailable``.
    func perform(
        _ messages: [[UInt8]], through queue: DaemonQueue? = nil, within limit: TimeAmount = Self.timeout,
        onReply: @escaping (DaemonCalls.Reply) -> Void, then answer: @escaping () -> Void
    ) {
        var timer: Scheduled<Void>?
        let calls = DaemonCalls(messages, onReply: onReply) { isComplete in
            timer?.cancel()
            if isComplete { answer() } else { send(unavailable) }
        }
        visitor.whenLeaving {
            timer?.cancel()
            calls.cancel()
        }
        let late = NIOLoopBound(
            {
                calls.cancel()
                send(unavailable)
            }, eventLoop: loop)
        timer = loop.scheduleTask(in: limit) { late.value() }
        (queue ?? site.daemon).start(calls, for: name)
    }

    // MARK: Failures

    var unavailable: Response { .json(Self.error("statusd does not answer"), .serviceUnavailable) }

    func invalid(_ reason: String) -> Response { .json(Self.error(reason), .badRequest) }

    func failure(_ error: String, _ parameters: [UInt8]) -> Response {
        let status: HTTPResponseStatus =
            switch error.split(separator: ".").last {
            case "NoSuchServer", "NothingSelected": .notFound
            case "NotRefreshable": .conflict
            case "PermissionDenied": .forbidden
            case "InvalidParameter", "InvalidSilence": .badRequest
            default: .serviceUnavailable
            }
        return .json(Self.error(error, parameters), status)
    }

    static func error(_ name: String, _ parameters: [UInt8] = Array("{}".utf8)) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("error", name)
            writer.member("parameters", raw: parameters)
        }
        return writer.bytes
    }
}
#endif
