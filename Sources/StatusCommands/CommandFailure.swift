// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Varlink

/// What a user is told when a command fails: one sentence for people, the error itself for programs, and the exit status.
struct CommandFailure: Error {
    var status: ExitStatus
    /// One sentence that says what to do.
    ///
    /// Lines after the first are details.
    var sentence: String
    /// What `--json` writes.
    var error: VarlinkError

    init(_ status: ExitStatus, _ sentence: String, error: VarlinkError) {
        self.status = status
        self.sentence = sentence
        self.error = error
    }

    /// A failure of this program's own: `name` is the error's name without the interface.
    init(_ status: ExitStatus, _ name: String, _ sentence: String) {
        let error = VarlinkError(MonitorInterface.qualified(name)) { $0.member("reason", sentence) }
        self.init(status, sentence, error: error)
    }

    /// The failure if the user's own time limit is over before the daemon has answered.
    static var timedOut: CommandFailure {
        CommandFailure(
            .timeIsOver, "TimedOut", "timed out, and the daemon does not answer; see “systemctl status statusd”")
    }

    /// The failure for whatever was thrown while `address` was asked.
    init(_ error: any Error, address: UnixAddress?) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as VarlinkError:
            self.init(ExitStatus(errorName: error.name), Self.sentence(for: error), error: error)
        case let error as VarlinkClientError: self.init(of: error, address: address)
        case let error as IOError: self.init(.usage, "InvalidAddress", error.message)
        default: self.init(.failed, "Failed", VisibleText.escape("\(error)"))
        }
    }

    /// The failure of a call, and what else a user should know of it.
    init(of error: VarlinkClientError, address: UnixAddress?, note: String? = nil) {
        let note = note.map { "; \($0)" } ?? ""
        let place = address.map { "\($0)" } ?? "the address"
        switch error.code {
        case .noService:
            // Where the system's daemon listens is the service manager's business; of any other one nobody knows.
            let advice =
                place.hasSuffix(MonitorAddress.system)
                ? "run “systemctl enable --now statusd.socket statusd”, or, if they are enabled, “systemctl restart statusd.socket statusd-executor.socket statusd”; or say where it is with --address"
                : "start one there, for example with “statusd”, or ask the system's with --address unix:\(MonitorAddress.system)"
            self.init(.noDaemon, "Unavailable", "no daemon listens at \(place); \(advice)")
        case .closed:
            self.init(
                .noDaemon, "Unavailable",
                "\(place) has closed the connection; try again if the daemon is being restarted, else see “systemctl status statusd.socket statusd”"
            )
        case .timedOut:
            self.init(
                .noDaemon, "Unavailable",
                "the daemon at \(place) does not answer (\(VisibleText.escape(error.description))); see “systemctl status statusd”\(note)"
            )
        case .permissionDenied:
            self.init(
                ExitStatus(error.code), "Unavailable",
                "\(VisibleText.escape(error.description)); use sudo, or have root add the user to the group of that socket"
            )
        default: self.init(ExitStatus(error.code), "Unavailable", VisibleText.escape(error.description))
        }
    }

    private static func sentence(for error: VarlinkError) -> String {
        func text(_ parameter: String) -> String { VisibleText.escape(error.text(parameter) ?? "?") }
        switch error.name {
        case MonitorInterface.qualified("NoSuchServer"):
            let name = text("server")
            if let reason = error.text("reason") {
                return "nobody can post to “\(name)”: \(VisibleText.escape(reason))"
            }
            return "there is no server “\(name)”; “statusctl list” shows all"
        case MonitorInterface.qualified("IsConfigured"):
            return "\(text("server")) is configured in \(text("file")); remove it there, then “statusctl reload”"
        case MonitorInterface.qualified("NothingSelected"):
            return "no server is selected; select one with “statusctl select NAME”, or name one"
        case MonitorInterface.qualified("InvalidStatus"): return "the status was refused: \(text("reason"))"
        case MonitorInterface.qualified("LimitReached"):
            let limit = text("limit")
            let advice = limit == "connections" ? "close some, or " : ""
            return "the limit of \(limit) is reached; \(advice)raise “limits: { \(limit): … }” in the configuration"
        case MonitorInterface.qualified("ReloadFailed"):
            return (["the configuration was not reloaded, everything is as it was before"] + failures(of: error))
                .joined(separator: "\n")
        case MonitorInterface.qualified("StartFailed"): return "the daemon does not start: \(text("reason"))"
        case MonitorInterface.qualified("NotRefreshable"):
            return
                "\(text("server")) has nothing to refresh; “statusctl status \(text("server"))” shows what is known of it"
        case MonitorInterface.qualified("RefreshFailed"):
            return "\(text("server")) could not be refreshed: \(text("reason"))"
        case MonitorInterface.qualified("WaitTimedOut"):
            guard let server = server(of: error) else { return "the time is over, and there is no such server yet" }
            guard server.status != nil else {
                return "the time is over; \(server.name) has no status (\(server.headline))"
            }
            return "the time is over; \(server.name) is “\(server.headline)” (\(ServerText.levelWord(server)))"
        case "org.varlink.service.PermissionDenied":
            return "this user may not do that; use sudo, or have root add the user to the group statusd"
        case "org.varlink.service.InvalidParameter":
            return "the daemon does not take this “\(text("parameter"))”"
        case "org.varlink.service.MethodNotFound", "org.varlink.service.MethodNotImplemented":
            return "the daemon does not know “\(text("method"))”; is it older than statusctl?"
        default: return "the daemon refused: \(VisibleText.escape(error.description))"
        }
    }

    private static func server(of error: VarlinkError) -> ServerState? {
        let server = try? JSONReader.read(error.parameters) { reader throws(JSONError) in
            var server: ServerState?
            try reader.object { name, reader throws(JSONError) in
                if name == "server" { server = try ServerState?(from: &reader) } else { try reader.skip() }
            }
            return server
        }
        return server ?? nil
    }

    private static func failures(of error: VarlinkError) -> [String] {
        let failed = try? JSONReader.read(error.parameters) { reader throws(JSONError) in
            var failed: [Failure] = []
            try reader.object { name, reader throws(JSONError) in
                if name == "failed" { failed = try [Failure](from: &reader) }
            }
            return failed
        }
        return (failed ?? []).map { $0.description }
    }
}
