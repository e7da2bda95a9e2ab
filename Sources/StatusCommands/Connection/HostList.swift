// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// The servers of several hosts, side by side.
struct HostList {
    private struct Answer: Sendable {
        var host: RemoteHost
        var result: Result<[ServerState], CommandFailure>
    }

    /// How long a host that was reached may take for its list; the answers of other hosts wait for it.
    private static let patience = Duration.seconds(10)

    private let arguments: ParsedArguments
    private let lines: (_ rows: [ServerListing.Row], Terminal, ParsedArguments) -> [String]

    init(
        _ arguments: ParsedArguments,
        lines: @escaping (_ rows: [ServerListing.Row], Terminal, ParsedArguments) -> [String]
    ) {
        self.arguments = arguments
        self.lines = lines
    }

    /// Asks all hosts at the same time, and writes their answers in the user's order.
    ///
    /// - Returns: the exit status of the first host that failed.
    func run() async -> ExitStatus {
        let terminal = Terminal(arguments)
        let answers = await answers()
        let filter = ServerFilter(arguments)
        var rows: [ServerListing.Row] = []
        for answer in answers {
            guard case .success(let servers) = answer.result else { continue }
            let shown = servers.filter(filter.includes)
            rows += shown.map { ServerListing.Row(host: answer.host.name, server: $0) }
            guard terminal.isJSON else { continue }
            terminal.json { writer in
                writer.member("host", answer.host.name)
                writer.member("servers", shown)
            }
        }
        if !terminal.isJSON, !rows.isEmpty { for line in lines(rows, terminal, arguments) { terminal.line(line) } }
        let failures = answers.compactMap { answer in
            if case .failure(let failure) = answer.result { failure } else { nil }
        }
        for failure in failures { terminal.failure(failure) }
        if rows.isEmpty, failures.isEmpty { terminal.note("no server matches") }
        return failures.first?.status ?? .done
    }

    private func answers() async -> [Answer] {
        let hosts = arguments[Options.host]
        return await withTaskGroup(of: (Int, Answer).self) { group in
            for (number, host) in hosts.enumerated() {
                group.addTask { (number, await Self.ask(host)) }
            }
            var answers = [Answer?](repeating: nil, count: hosts.count)
            for await (number, answer) in group { answers[number] = answer }
            return answers.compactMap { $0 }
        }
    }

    private static func ask(_ host: RemoteHost) async -> Answer {
        let address = DaemonAddress.remote(host)
        do {
            return Answer(host: host, result: .success(try await address.connect().list(within: patience).servers))
        } catch {
            var failure = CommandFailure(error, address: address)
            failure.host = host.name
            return Answer(host: host, result: .failure(failure))
        }
    }
}
