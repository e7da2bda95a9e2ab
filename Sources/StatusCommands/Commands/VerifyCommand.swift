// SPDX-License-Identifier: Apache-2.0

import Arguments
import Glibc
import StatusConfiguration
import Systemd
import Varlink

/// The command `statusctl verify`.
enum VerifyCommand {
    private static let files = Argument<[String]>.list(
        "file", help: "The files, or directories with statusd.yaml and conf.d/.", completion: .files)

    static let command = Command<ExitStatus>(
        "verify", abstract: "Check configuration files without a daemon.",
        discussion: "Without files the configuration is checked that the daemon would read.\n\n" + ExitStatus.table,
        parameters: [files, Options.json], run: { verify($0) })

    private static func verify(_ arguments: ParsedArguments) -> ExitStatus {
        let terminal = Terminal(arguments)
        let standard = ConfigurationLocation.standard(
            environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
        let files = arguments[files]
        let locations = files.isEmpty ? [standard] : files.map { ConfigurationLocation(path: $0) }
        let problems = locations.flatMap(problems(at:))
        if terminal.isJSON { terminal.json { $0.member("problems", problems.map(ProblemText.init)) } }
        for problem in problems { terminal.remark("\(problem.severity.rawValue): \(problem)") }
        return problems.contains { $0.severity == .error } ? .configurationWrong : .done
    }

    private static func problems(at location: ConfigurationLocation) -> [Problem] {
        do throws(Problem) {
            return try ConfigurationLoader(location: location).load().problems
        } catch {
            return [error]
        }
    }
}
