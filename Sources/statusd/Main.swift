// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Foundation
public import Logging
import StatusDaemon
import StatusInterface

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
        let environment = ProcessInfo.processInfo.environment
        let daemon = Daemon(configuration: config, environment: environment, logLevel: logLevel)
        // Not an asynchronous main, nor dispatchMain(): both let the main thread take signals that are blocked. So there is nothing
        // this task could be a child of; the process ends with it.
        Task.detached { Foundation.exit(await daemon.run()) }
        while true { pause() }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
