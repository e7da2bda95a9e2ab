// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Varlink

/// Why a command failed: a sentence for people, an error for programs, and the exit status.
struct CommandFailure: Error {
    var status: ExitStatus
    /// One sentence that says what failed and what to do; lines after the first are details.
    var sentence: String
    /// The error that `--json` writes.
    var error: VarlinkError
    /// The host that it comes from, if the user named several.
    var host: String?

    init(_ status: ExitStatus, _ sentence: String, error: VarlinkError) {
        self.status = status
        self.sentence = sentence
        self.error = error
    }

    /// A failure of statusctl itself; `name` is the error's name without the interface.
    init(_ status: ExitStatus, _ name: String, _ sentence: String) {
        let error = VarlinkError(MonitorInterface.qualified(name)) { $0.member("reason", sentence) }
        self.init(status, sentence, error: error)
    }

    /// The longest error that is shown, in bytes: more than statusd's list of errors in the configuration.
    private static let longestError = 1 << 20

    /// How to start the system's daemon; if the socket unit is active, its socket was removed.
    private static var startAdvice: String {
        ProgramOutput.systemctl("is-active statusd.socket") == "active\n"
            ? "run “systemctl restart statusd.socket statusd”" : "run “systemctl enable --now statusd.socket statusd”"
    }

    /// The failure if the user's deadline passes before the daemon at `address` answers.
    static func timedOut(_ address: DaemonAddress) -> CommandFailure {
        CommandFailure(.timedOut, "TimedOut", "timed out: the daemon does not answer; see \(address.log)")
    }

    /// The failure for an error of a call to the daemon at `address`.
    init(_ error: any Error, address: DaemonAddress?) {
        switch error {
        case let failure as CommandFailure: self = failure
        case MonitorError.connection(let error): self.init(of: error, address: address)
        case let error as MonitorError: self.init(error)
        case let error as VarlinkClientError: self.init(of: error, address: address)
        case let error as IOError: self.init(.usage, "InvalidAddress", error.message)
        default: self.init(.failed, "Failed", VisibleText.escape("\(error)"))
        }
    }

    /// The failure for a failed connection; `note` is added to the sentence.
    init(of error: VarlinkClientError, address: DaemonAddress?, note: String? = nil) {
        let note = note.map { "; \($0)" } ?? ""
        let place = address.map { "\($0)" } ?? "the address"
        let log = (address ?? .system).log
        switch error.code {
        case .noService where !(address?.isSocket ?? true):
            let advice =
                address?.isRemote ?? false ? "“ssh \(place) statusctl list” must work" : "check the address \(place)"
            self.init(
                .noDaemon, "Unavailable",
                "cannot reach the daemon: \(VisibleText.escape(error.description)); \(advice)")
        case .noService:
            // The service manager starts only the system's daemon.
            let advice =
                address == .system
                ? Self.startAdvice
                : "check the address, or start a daemon there; the system's listens at unix:\(MonitorAddress.system)"
            self.init(.noDaemon, "Unavailable", "cannot reach the daemon: nothing listens at \(place); \(advice)")
        case .closed:
            self.init(
                .noDaemon, "Unavailable",
                """
                cannot reach the daemon: \(place) closed the connection; try again if the daemon is restarting, \
                otherwise see \(log)
                """
            )
        case .timedOut:
            self.init(
                .noDaemon, "Unavailable",
                "the daemon at \(place) does not answer: \(VisibleText.escape(error.description)); see \(log)\(note)"
            )
        case .permissionDenied:
            self.init(
                ExitStatus(error.code), "Unavailable",
                """
                \(VisibleText.escape(error.description)); use sudo, or give the user access to that socket and its \
                directory
                """
            )
        default: self.init(ExitStatus(error.code), "Unavailable", VisibleText.escape(error.description))
        }
    }

    /// The failure for an error reply; `suggestion` names the server that the user may have meant.
    init(_ error: MonitorError, suggestion: String = "") {
        guard let reply = error.reply else {
            self.init(.failed, "Failed", "interrupted")
            return
        }
        guard reply.parameters.count <= Self.longestError else {
            let name = VisibleText.excerpt(reply.name, bytes: 100)
            self.init(
                ExitStatus(error),
                "the daemon refused the request: \(name), with \(reply.parameters.count) bytes of details",
                error: VarlinkError(name))
            return
        }
        let sentence =
            Self.sentence(for: error, suggestion)
            ?? "the daemon refused the request: \(VisibleText.escape(reply.description))"
        self.init(ExitStatus(error), sentence, error: reply)
    }

    private static func sentence(for error: MonitorError, _ suggestion: String) -> String? {
        func visible(_ text: String) -> String { VisibleText.escape(text) }
        switch error {
        case .noSuchServer(let server, let reason?):
            return "cannot post to \(visible(server)): \(visible(reason))\(suggestion)"
        case .noSuchServer(let server, nil):
            let advice = suggestion.isEmpty ? "; run “statusctl list” to see all servers" : suggestion
            return "no server named “\(visible(server))”\(advice)"
        case .isConfigured(let server, let file):
            let (server, file) = (visible(server), visible(file))
            return "cannot forget \(server): it is configured in \(file); remove it there and run “statusctl reload”"
        case .isFollowed(let server, let host):
            let (server, host) = (visible(server), visible(host))
            return "cannot forget \(server), which is followed; if \(host) is gone, run “statusd-mqtt --remove \(host)”"
        case .nothingSelected:
            return "no server is selected; run “statusctl select NAME”, or give a server name"
        case .invalidStatus(let reason): return "cannot post the status: \(visible(reason))"
        case .invalidSilence(let reason): return "cannot silence: \(visible(reason))"
        case .noSuchReceiver(let receiver):
            return "no receiver named “\(visible(receiver))”; run “statusctl alerts” to see all"
        case .historyUnavailable(let reason): return "cannot read the history: \(visible(reason))"
        case .limitReached(let limit, let value):
            let limit = visible(limit)
            let amount = limit == "message" ? "messages of \(value) bytes" : "\(value) \(limit)"
            let advice = limit == "connections" ? "close some connections, or " : ""
            return "limit reached: \(amount); \(advice)raise “limits: { \(limit): … }” in the configuration"
        case .reloadFailed(let failed):
            return (["cannot reload the configuration; nothing was changed"] + failed.map { "statusctl: error: \($0)" })
                .joined(separator: "\n")
        case .startFailed(let reason): return "the daemon cannot start: \(visible(reason))"
        case .notRefreshable(let server):
            let server = visible(server)
            return
                """
                cannot refresh \(server): nothing loads its status; run “statusctl status \(server)” to see the last \
                one
                """
        case .refreshFailed(let server, let reason):
            return "cannot refresh \(visible(server)): \(visible(reason))"
        case .waitTimedOut(let server?):
            guard server.status != nil else { return "timed out: \(server.name): \(ServerText.headline(server))" }
            return "timed out: \(server.name) is “\(server.headline)” (\(ServerText.levelWord(server)))"
        case .service(.permissionDenied):
            return "permission denied; use sudo, or add the user to the group statusd"
        case .service(.invalidParameter(let parameter)):
            return "the daemon refused the parameter “\(visible(parameter))”"
        case .service(.methodNotFound(let method)), .service(.methodNotImplemented(let method)):
            return
                """
                the daemon has no method “\(visible(method))”; if it is older than statusctl, run “systemctl restart \
                statusd”
                """
        // It calls no method that has these.
        case .otherMachine, .reportRefused: return nil
        case .waitTimedOut(nil), .service, .other, .connection, .cancelled: return nil
        }
    }
}

extension CommandFailure: JSONWritable {
    /// Writes the error, with its parameters as the daemon sent them.
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("host", host)
            writer.member("error", error.name)
            writer.member("parameters", raw: error.parameters)
        }
    }
}
