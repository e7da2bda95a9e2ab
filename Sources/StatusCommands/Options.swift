// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import StatusInterface
import Systemd

/// What all commands have.
struct Options: ParsableArguments {
    @Flag(help: "Write JSON: one object, or one object a line for streams; errors, too.")
    var json = false

    /// Puts options that all commands have, and that stand before the command, behind it, where they are read.
    static func behindCommand(_ arguments: [String]) -> [String] {
        var rest = arguments[...]
        var options: [String] = []
        while let option = rest.first, option == "--json" || option == "--address" || option.hasPrefix("--address=") {
            let length = option == "--address" ? 2 : 1
            options += rest.prefix(length)
            rest = rest.dropFirst(length)
        }
        return rest.prefix(1) + options + rest.dropFirst()
    }

    var terminal: Terminal { Terminal(isJSON: json, environment: ProcessEnvironment.current) }

    /// Runs a command's work; what it throws is told, and becomes the exit status.
    func perform(_ work: (Terminal) async throws -> Void) async throws {
        // A reader that goes away is noticed where something is written, not by a signal.
        signal(SIGPIPE, SIG_IGN)
        let terminal = terminal
        do {
            try await work(terminal)
        } catch let exit as ExitCode {
            throw exit
        } catch {
            let failure = CommandFailure(error, address: nil)
            terminal.failure(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }
}

/// What commands that ask the daemon have.
struct ClientOptions: ParsableArguments {
    @OptionGroup var common: Options

    @Option(
        help: ArgumentHelp(
            "Ask the daemon at this address (default: $STATUSD_ADDRESS, else the usual place).", valueName: "unix:/path"
        ))
    var address: String?

    /// Runs a command's work with a client.
    func perform(_ work: (MonitorClient, Terminal) async throws -> Void) async throws {
        try await common.perform { terminal in
            let address = try resolvedAddress()
            do {
                try await work(try await MonitorClient.connect(to: address), terminal)
            } catch let exit as ExitCode {
                throw exit
            } catch {
                throw CommandFailure(error, address: address)
            }
        }
    }

    func resolvedAddress() throws -> UnixAddress {
        if let address { return try UnixAddress(parsing: address) }
        return try MonitorAddress.standard(
            environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
    }
}
