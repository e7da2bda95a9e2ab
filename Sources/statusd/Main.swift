// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import StatusDaemon
import StatusInterface
import Systemd

/// The command line of the daemon.
@main
struct Main: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statusd", abstract: "Follows the status of servers, one of them selected at a time.",
        discussion: "Exit status: 0 stopped as asked, 1 failed, 64 usage, 78 configuration wrong.",
        version: MonitorVersion.current)

    @Option(help: ArgumentHelp("Read this file, or statusd.yaml and conf.d/ in this directory.", valueName: "path"))
    var config: String?

    @Option(help: "Log messages of this level and above: trace, debug, info, notice, warning, error.")
    var logLevel = Logger.Level.info

    static func main() {
        Daemon.prepare()
        main(nil)
    }

    func run() throws {
        let environment = ProcessEnvironment.current
        Daemon(configuration: config, environment: environment, logLevel: logLevel).runAndExit()
    }
}
