// SPDX-License-Identifier: Apache-2.0

/// What a command line asks for.
public enum Invocation<Status: Sendable>: Sendable {
    /// Run a command.
    case run(Command<Status>, ParsedArguments)
    /// Show a text, such as help, and end successfully.
    case show(String)
    /// Suggest what the last of these words may become.
    case complete([String])
}

/// Why a command line is invalid.
public struct UsageError: Error, Sendable, Hashable {
    /// What is wrong and what to do, without the program's name.
    public let reason: String
    /// The usage of the command, in one line.
    public let usage: String
}

/// Parses a program's command line by the conventions of getopt_long(3).
///
/// Options may stand anywhere, before the command too; `--name=value` and `--name value` are the same; `--` ends
/// options.
public struct CommandParser<Status: Sendable>: Sendable {
    let program: Command<Status>
    private let version: String

    /// A parser for a program that also has `--help`, `--version` and `--generate-completion-script`.
    public init(_ program: Command<Status>, version: String) {
        self.program = program
        self.version = version
    }

    /// Parses the words after the program's name.
    public func parse(_ words: [String]) throws(UsageError) -> Invocation<Status> {
        if words.first == "--complete", words.dropFirst().first == "--" { return .complete(Array(words.dropFirst(2))) }
        var line = CommandLineReader(program: program)
        try line.read(words)
        let standard = try line.standardOptions()
        if standard[StandardOptions.help] { return .show(HelpText(program, line.command).text) }
        if standard[StandardOptions.version] { return .show(version) }
        if let shell = standard[StandardOptions.completionScript] { return .show(shell.script(for: program.name)) }
        guard let command = line.command ?? (program.subcommands.isEmpty ? program : nil) else {
            // Without any words, the program shows its help.
            if words.isEmpty { return .show(HelpText(program, nil).text) }
            throw line.error("missing command; run “\(program.name) --help”")
        }
        return .run(command, try line.finish(command))
    }

    /// Whether the words contain a flag; for use without a successful parse.
    public static func asks(for flag: Flag, _ words: [String]) -> Bool {
        words.prefix { $0 != "--" }.contains("--\(flag.specification.name)")
    }
}
