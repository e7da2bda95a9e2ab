// SPDX-License-Identifier: Apache-2.0

import Arguments
import EventLoopIO
import Glibc
import StatusInterface
import StatusModel

/// The options that several commands have.
enum Options {
    static let json = Flag("json", help: "Write JSON, errors included: one object, or one object a line for streams.")

    static let address = Option<UnixAddress?>(
        "address", value: "ADDRESS",
        help: "Use the daemon at this address (default: $STATUSD_ADDRESS, else the user's own daemon or the system's).",
        default: nil
    ) { text throws(InvalidValue) in
        do throws(IOError) {
            return try UnixAddress(parsing: text)
        } catch {
            // The error's own message would name the text a second time.
            throw InvalidValue(
                error.code == .pathTooLong ? "must have at most 107 bytes" : "must be /path, unix:/path or unix:@name")
        }
    }

    static let all = Flag("all", help: "Follow every server.")

    /// A required name of a server, which is checked.
    static func serverName(help: String = "The server's name.") -> Argument<ServerName> {
        .required("name", help: help, completion: .servers) { text throws(InvalidValue) in
            guard let name = ServerName(text) else { throw InvalidValue(ServerName.rule) }
            return name
        }
    }

    /// An optional name of a server, which the daemon checks.
    static let anyServer = Argument<String?>.optional("name", help: "The server's name.", completion: .servers)

    /// Any number of names of servers, which the command or the daemon checks.
    static let servers = Argument<[String]>.list("name", help: "The server's name.", completion: .servers)

    /// What is written of each server, instead of a table or a description.
    static let format = Option<FormatTemplate?>(
        "format", value: "TEXT", help: "Write this line for each server; {name}, {text} and {level} are fields.",
        default: nil
    ) { text throws(InvalidValue) in try FormatTemplate(text) }

    /// Checks that the output has one form.
    static func checkFormat(_ arguments: ParsedArguments) throws(InvalidUsage) {
        if arguments[format] != nil, arguments[json] { throw InvalidUsage("give --format or --json, not both") }
    }

    /// A time, by the rules of systemd.time(7).
    static func time(_ name: String, help: String) -> Option<TimeExpression?> {
        Option(name, value: "TIME", help: help, default: nil) { text throws(InvalidValue) in
            guard let time = TimeExpression(text) else { throw InvalidValue(TimeExpression.rule) }
            return time
        }
    }

    /// A number of things in a range.
    static func number(
        _ name: String, letter: Character? = nil, in range: ClosedRange<Int>, help: String
    ) -> Option<Int?> {
        Option(name, letter: letter, value: "N", help: help, default: nil) { text throws(InvalidValue) in
            guard let number = Int(text), range ~= number else {
                let end = range.upperBound == .max ? "" : " to \(range.upperBound)"
                throw InvalidValue("must be a whole number from \(range.lowerBound)\(end)")
            }
            return number
        }
    }

    /// An option whose value is a level.
    static func level<Value: Sendable>(
        help: String, default value: Value, _ make: @escaping @Sendable (Level) -> Value
    ) -> Option<Value> {
        let words = Level.allCases.map(\.rawValue)
        return Option("level", value: "LEVEL", help: help, default: value, completion: .words(words)) {
            text throws(InvalidValue) in
            guard let level = Level(rawValue: text) else {
                throw InvalidValue("must be \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")")
            }
            return make(level)
        }
    }
}

extension Completion {
    /// The names of the daemon's servers; none if it does not answer.
    static let servers = Completion.dynamic { arguments in
        await ServerSuggestion.names(try? ClientCommand.connect(address: arguments[Options.address]))
    }
}
