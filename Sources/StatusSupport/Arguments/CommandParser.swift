// SPDX-License-Identifier: Apache-2.0

/// The request that a command line makes.
public enum Invocation<Status: Sendable>: Sendable {
    case run(Command<Status>, ParsedArguments)
    /// Show a text, such as help, and exit successfully.
    case show(String)
    /// Complete the last of these words.
    case complete([String])
}

/// The reason why a command line is invalid.
public struct UsageError: Error, Sendable, Hashable {
    /// What is wrong and what to do, without the program's name.
    public let reason: String
    public let usage: String
}

/// Parses a program's command line by the conventions of getopt_long(3).
///
/// Options may be anywhere, even before the command. `--name=value` and `--name value` are the same. `--` ends the
/// options.
public struct CommandParser<Status: Sendable>: Sendable {
    let program: Command<Status>
    private let version: String

    /// Creates a parser; the program also gets `--help`, `--version` and `--generate-completion-script`.
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
            throw line.error("missing command; run “\(program.name) --help”")
        }
        return .run(command, try line.finish(command))
    }

    /// Whether the words contain a flag, even if they are otherwise invalid.
    public static func asks(for flag: Flag, _ words: [String]) -> Bool {
        words.prefix { $0 != "--" }.contains("--\(flag.specification.name)")
    }
}

/// The options that every program has.
enum StandardOptions {
    static let help = Flag("help", help: "Show this help.")
    static let version = Flag("version", help: "Show the version.")
    static let completionScript = Option(
        "generate-completion-script", value: "SHELL", help: "Write completions for bash, zsh or fish.",
        default: CompletionShell?.none, completion: .words(CompletionShell.allCases.map(\.rawValue))
    ) { text throws(InvalidValue) in
        guard let shell = CompletionShell(rawValue: text) else { throw InvalidValue("must be bash, zsh or fish") }
        return shell
    }

    /// The options in the help and completion of the program, or of one of its commands.
    static func all(ofCommand isCommand: Bool) -> [ParameterSpecification] {
        [help.specification, version.specification] + (isCommand ? [] : [completionScript.specification])
    }
}
