// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusModel
import StatusSupport

/// The command with which `top` shows the journal of a server.
struct TopJournal: Sendable {
    /// The command as the user can repeat it.
    let line: String
    private let words: [String]

    /// The journal of the unit that the server follows; without one, what statusd has written about the server.
    ///
    /// - Parameter unit: the unit by its name, as the daemon tells it.
    init(of server: ServerName, unit: String?, at address: DaemonAddress) throws(CommandFailure) {
        // A valid name cannot be an option or a pattern.
        let unit = unit.flatMap { UnitName.normalize($0) == $0 ? $0 : nil }
        let journal = ["journalctl", "-e"] + (unit.map { ["--unit=\($0)"] } ?? ["SERVER=\(server)"])
        // The pager stays also if there is only one page, and leaves the screen as it was. env(1) finds the program.
        let isSet = ProcessEnvironment.current["SYSTEMD_LESS"] != nil
        switch address {
        case .local where address.isSocket:
            line = RemoteHost.line(journal)
            words = ["/usr/bin/env"] + (isSet ? [] : [Self.pager]) + journal
        case .local:
            throw CommandFailure(
                .usage, "Usage", "cannot show the journal: this daemon is behind a program; run journalctl there")
        case .remote(let host):
            line = "ssh \(host.name) \(RemoteHost.line(journal))"
            do throws(IOError) {
                words = try host.interactively(["env", Self.pager] + journal)
            } catch {
                throw CommandFailure(.failed, "Failed", "cannot show the journal: \(error.message)")
            }
        }
    }

    private static let pager = "SYSTEMD_LESS=RSMK"

    /// Runs the command on the terminal of this process, and returns when it has ended.
    ///
    /// - Throws: if it could not be run, or fails.
    func run() async throws(CommandFailure) {
        let start = ProcessStart(path: words[0], arguments: words, leadsGroup: false)
        let ignored = [SIGINT, SIGQUIT].map { ($0, Self.ignore($0)) }
        let failure = await BlockingThread.run { Self.run(start) }
        for (number, former) in ignored { withUnsafePointer(to: former) { _ = sigaction(number, $0, nil) } }
        guard let failure else { return }
        throw CommandFailure(
            .failed, "Failed", "cannot show the journal: “\(line)” \(failure); run it to see why")
    }

    /// Waits for the command; returns how it failed, if it did.
    private static func run(_ start: ProcessStart) -> String? {
        do throws(ProcessStart.Failure) {
            let process = try start()
            var status = Int32()
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            // The other bits are the signal that ended it (wait(2)), which the user sent.
            return status & 0x7F == 0 && status != 0 ? "ended with status \(status >> 8)" : nil
        } catch {
            return "did not start (\(error))"
        }
    }

    /// Ignores a signal of the terminal, as system(3) does, because it is for the command; returns the former action.
    private static func ignore(_ number: Int32) -> sigaction {
        var (action, former) = (sigaction(), sigaction())
        action.__sigaction_handler.sa_handler = SIG_IGN
        sigaction(number, &action, &former)
        return former
    }
}
