// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1
import StatusInterface
import StatusModel
import Varlink

extension API {
    /// Refreshes, selects or silences for a visitor whom a proxy has authenticated.
    func act() {
        guard site.settings.hasActions else {
            if request.head.method != .POST { return send(Site.notAllowed("GET, HEAD")) }
            return send(.json(Self.error("actions are off; start statusd-web with --actions"), .forbidden))
        }
        guard request.head.method == .POST else { return send(Site.notAllowed("GET, HEAD, POST")) }
        if let refusal { return send(.json(Self.error(refusal), .forbidden)) }
        switch target.path.dropFirst().joined(separator: "/") {
        case "refresh": refresh()
        case "select": forward("Select", MonitorInterface.SelectParameters.self)
        case "silence": silence()
        case "unsilence": forward("Unsilence", MonitorInterface.UnsilenceParameters.self)
        default: send(.text(.notFound, "there is nothing at this address"))
        }
    }

    /// Why a visitor may not act, or a page of another site may have made the browser send this.
    private var refusal: String? {
        let headers = request.head.headers
        guard site.mayAct(request.head, visitor) else {
            return "only people whom a proxy on the Unix socket has authenticated (Remote-User) may do this"
        }
        guard headers["content-type"].first?.hasPrefix("application/json") == true else {
            return "the body must be of the type application/json"
        }
        let site = headers["sec-fetch-site"].first ?? "same-origin"
        let origin = headers["origin"].first.map { $0.split(separator: "/").last.map(String.init) ?? "" }
        guard site == "same-origin", origin == nil || origin == headers["host"].first else {
            return "the request comes from a page of another site"
        }
        return nil
    }

    /// The parameters in the body; nil after an answer that they are invalid.
    private func parameters<Parameters: JSONStructure>(_ type: Parameters.Type) -> Parameters? {
        do {
            return try request.body.withUnsafeReadableBytes { bytes throws(JSONError) in
                try JSONReader.read(bytes) { reader throws(JSONError) in try Parameters(from: &reader) }
            }
        } catch {
            send(invalid("the body is not valid: \(error)"))
            return nil
        }
    }

    private func forward<Parameters: JSONStructure>(_ method: String, _ type: Parameters.Type) {
        if let parameters = parameters(type) { call(method, parameters) }
    }

    private func silence() {
        guard var parameters = parameters(MonitorInterface.SilenceParameters.self) else { return }
        // The journal only knows the user of this process.
        let user = Site.user(request.head).map { VisibleText.excerpt($0, bytes: 64) } ?? ""
        parameters.reason = parameters.reason.map { "\($0) (\(user))" } ?? user
        call("Silence", parameters)
    }

    /// Refreshes a server, or all of them at the same time; the answer ends with the last check.
    private func refresh() {
        guard let parameters = parameters(MonitorInterface.RefreshParameters.self) else { return }
        let names = parameters.server.map { [$0] } ?? site.refreshableServers
        guard !names.isEmpty else { return send(invalid("no server can be refreshed")) }
        // Each connection carries out its calls one after another.
        let connections = min(names.count, Self.mostConnections)
        var (left, failed) = (connections, [(name: String, error: [UInt8])]())
        var last: Response?
        let all = (0..<connections).map { first in
            let own = stride(from: first, to: names.count, by: connections).map { names[$0] }
            let messages = own.map {
                message("Refresh", MonitorInterface.RefreshParameters(server: $0), more: true)
            }
            return DaemonCalls(messages) { reply in
                guard let error = reply.error else { return }
                last = failure(error, reply.parameters)
                failed.append((own[reply.call], Self.error(error, reply.parameters)))
            } onEnd: { isComplete in
                if !isComplete {
                    last = unavailable
                    failed += own.map { ($0, Self.error("statusd does not answer")) }
                }
                left -= 1
                if left == 0 { send(failed.count >= names.count ? last ?? unavailable : Self.refreshed(failed)) }
            }
        }
        visitor.whenLeaving { for calls in all { calls.cancel() } }
        for calls in all { site.daemon.start(calls, for: name) }
    }

    private static func refreshed(_ failed: [(name: String, error: [UInt8])]) -> Response {
        var writer = JSONWriter()
        writer.object { writer in
            writer.beginArray("failed")
            for (name, error) in failed {
                writer.object { writer in
                    writer.member("server", name)
                    writer.member("reason", raw: error)
                }
            }
            writer.endArray()
        }
        return .json(writer.bytes)
    }
}
#endif
