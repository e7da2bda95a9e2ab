// SPDX-License-Identifier: Apache-2.0

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

    /// Those that the program's help and completion show, or those of a command.
    static func all(ofCommand isCommand: Bool) -> [ParameterSpecification] {
        [help.specification, version.specification] + (isCommand ? [] : [completionScript.specification])
    }
}
