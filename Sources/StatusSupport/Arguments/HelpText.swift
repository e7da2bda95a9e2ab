// SPDX-License-Identifier: Apache-2.0

/// The help of a program or of one of its commands.
struct HelpText<Status: Sendable> {
    private static var width: Int { 80 }
    private static var column: Int { 26 }

    private let program: Command<Status>
    private let command: Command<Status>?

    init(_ program: Command<Status>, _ command: Command<Status>?) {
        self.program = program
        self.command = command
    }

    private var shown: Command<Status> { command ?? program }

    var usage: String {
        var words = ["usage:", program.name] + (command.map { [$0.name] } ?? [])
        if !shown.subcommands.isEmpty { words.append("COMMAND") }
        words.append("[OPTION…]")
        for parameter in shown.parameters.map(\.specification) {
            guard case .argument(let arity) = parameter.form else { continue }
            switch arity {
            case .one: words.append(parameter.title)
            case .optional: words.append("[\(parameter.title)]")
            case .any: words.append("[\(parameter.title)…]")
            }
        }
        return words.joined(separator: " ")
    }

    var text: String {
        var sections = [Self.wrap(shown.abstract, indent: 0), "U" + usage.dropFirst()]
        sections += section("Commands", shown.subcommands.map { ("  \($0.name)", $0.abstract) })
        let specifications = shown.parameters.map(\.specification)
        sections += section("Arguments", specifications.filter(\.isArgument).map { ("  \($0.title)", $0.help) })
        sections += section("Options", (specifications.filter { !$0.isArgument } + standardOptions).map(Self.option))
        if !shown.discussion.isEmpty { sections.append(Self.wrapParagraphs(shown.discussion)) }
        if command == nil, !program.subcommands.isEmpty {
            sections.append("“\(program.name) COMMAND --help” describes a command.")
        }
        return sections.joined(separator: "\n\n")
    }

    private var standardOptions: [ParameterSpecification] { StandardOptions.all(ofCommand: command != nil) }

    private static func option(_ parameter: ParameterSpecification) -> (String, String) {
        let letter = parameter.name == StandardOptions.help.specification.name ? "h" : parameter.letter
        let short = letter.map { "  -\($0), " } ?? "      "
        let value = if case .option(let value) = parameter.form { " \(value)" } else { "" }
        return ("\(short)--\(parameter.name)\(value)", parameter.help)
    }

    private func section(_ title: String, _ entries: [(String, String)]) -> [String] {
        guard !entries.isEmpty else { return [] }
        let lines = entries.map { name, help in
            let text = Self.wrap(help, indent: Self.column)
            let isShort = name.count + 2 <= Self.column
            let gap = String(repeating: " ", count: isShort ? Self.column - name.count : Self.column)
            return name + (isShort ? "" : "\n") + gap + text
        }
        return ["\(title):\n" + lines.joined(separator: "\n")]
    }

    /// Wraps each line of a text, except indented ones, which are tables.
    private static func wrapParagraphs(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix(" ") ? String($0) : wrap(String($0), indent: 0) }.joined(separator: "\n")
    }

    /// Wraps a text and indents all lines after the first.
    private static func wrap(_ text: String, indent: Int) -> String {
        text.wrapped(to: width - indent).joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
