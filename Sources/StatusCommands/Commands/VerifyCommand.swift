// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import StatusConfiguration
import Systemd
import Varlink

/// The command `statusctl verify`.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check configuration files without a daemon.",
        discussion: "Without files the configuration is checked that the daemon would read.\n\n" + ExitStatus.table)

    @OptionGroup var options: Options

    @Argument(help: "The files, or directories with statusd.yaml and conf.d/.")
    var files: [String] = []

    func run() async throws {
        try await options.perform { terminal in
            let standard = ConfigurationLocation.standard(
                environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
            let locations = files.isEmpty ? [standard] : files.map { ConfigurationLocation(path: $0) }
            let problems = locations.flatMap(Self.problems)
            if terminal.isJSON {
                terminal.json { writer in
                    writer.member("problems", problems.map(ProblemText.init))
                }
            }
            for problem in problems { terminal.remark("\(problem.severity.rawValue): \(problem)") }
            if problems.contains(where: { $0.severity == .error }) {
                throw ExitCode(ExitStatus.configurationWrong.rawValue)
            }
        }
    }

    private static func problems(at location: ConfigurationLocation) -> [Problem] {
        do throws(Problem) {
            return try ConfigurationLoader(location: location).load().problems
        } catch {
            return [error]
        }
    }
}
