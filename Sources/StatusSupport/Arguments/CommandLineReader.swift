// SPDX-License-Identifier: Apache-2.0

/// Sorts the words of a command line into the command, its options and its arguments.
struct CommandLineReader<Status: Sendable> {
    private let program: Command<Status>
    private(set) var command: Command<Status>?
    private var options: [(specification: ParameterSpecification, value: String?)] = []
    private var words: [String] = []

    init(program: Command<Status>) { self.program = program }

    /// The standard options and the parameters of the command.
    ///
    /// Before a command is named, they are the parameters of all commands.
    private var parameters: [ParameterSpecification] {
        let current = command ?? program
        let all = current.subcommands.isEmpty ? current.parameters : current.subcommands.flatMap(\.parameters)
        return all.map(\.specification) + StandardOptions.all(ofCommand: false)
    }

    var validOptions: ParsedArguments {
        var arguments = ParsedArguments()
        for (specification, value) in options where (try? specification.check(value.map { [$0] } ?? [])) != nil {
            arguments.note(specification, value)
        }
        return arguments
    }

    func error(_ reason: String) -> UsageError { UsageError(reason: reason, usage: HelpText(program, command).usage) }

    mutating func read(_ all: [String]) throws(UsageError) {
        var rest = all[...]
        while let word = rest.popFirst() {
            if word == "--" {
                for word in rest { try take(word) }
                return
            } else if word == "-h" || word == "--help" {
                options.append((StandardOptions.help.specification, nil))
            } else if word.hasPrefix("--") {
                try readOption(word.dropFirst(2), &rest)
            } else if let option = parameters.first(where: { $0.isShortForm(word) }) {
                guard let value = word.count > 2 ? String(word.dropFirst(2)) : rest.popFirst() else {
                    throw error("\(word) requires a value")
                }
                options.append((option, value))
            } else if word.hasPrefix("-"), word != "-" {
                throw error("unknown option “\(word)”\(advice(for: word))")
            } else {
                try take(word)
            }
        }
    }

    private mutating func take(_ word: String) throws(UsageError) {
        guard command == nil, !program.subcommands.isEmpty else { return words.append(word) }
        if word == "help" { return options.append((StandardOptions.help.specification, nil)) }
        guard let found = program.subcommands.first(where: { $0.name == word }) else {
            let known = program.subcommands.map(\.name) + StandardOptions.all(ofCommand: false).map { "--\($0.name)" }
            throw error("unknown command “\(word)”\(Nearest.suggestion(for: word, among: known))")
        }
        command = found
    }

    private mutating func readOption(_ text: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (name, attached) = (parts[0], parts.count > 1 ? parts[1] : nil)
        if let flag = parameters.first(where: { $0.name == name && $0.form == .flag }) {
            if attached != nil { throw error("--\(name) takes no value") }
            options.append((flag, nil))
        } else if let option = parameters.first(where: { $0.name == name && $0.isOption }) {
            guard let value = attached ?? rest.popFirst() else { throw error("--\(name) requires a value") }
            options.append((option, value))
        } else {
            throw error("unknown option “--\(name)”\(Nearest.suggestion(for: "--\(name)", among: longOptions))")
        }
    }

    private var longOptions: [String] { parameters.filter { !$0.isArgument }.map { "--\($0.name)" } }

    /// Suggests a long option, by name or first letter, or an argument for a word with a single hyphen.
    private func advice(for word: String) -> String {
        let initial = Set(longOptions.filter { word.count == 2 && $0.hasPrefix("-\(word.lowercased())") })
        // Without a command, every program's own options are meant first.
        let standard = parameters.filter(\.isStandard).map { "--\($0.name)" }
        let meant = initial.count == 1 ? initial.first : initial.intersection(standard).first
        let suggestion = Nearest.suggestion(for: meant ?? "-\(word)", among: longOptions)
        return suggestion.isEmpty ? "; write “--” before an argument that starts with a hyphen" : suggestion
    }

    func standardOptions() throws(UsageError) -> ParsedArguments {
        var arguments = ParsedArguments()
        for (specification, value) in options where specification.isStandard {
            arguments.note(specification, value)
            try check(specification, arguments)
        }
        return arguments
    }

    func finish(_ command: Command<Status>) throws(UsageError) -> ParsedArguments {
        var arguments = ParsedArguments()
        let known = command.parameters.map(\.specification)
        for option in options {
            guard known.contains(where: { $0.name == option.specification.name }) else {
                throw error("\(command.name) has no option \(option.specification.title)")
            }
            arguments.note(option.specification, option.value)
        }
        try assignWords(to: known, &arguments)
        for parameter in known { try check(parameter, arguments) }
        do throws(InvalidUsage) { try command.validate(arguments) } catch { throw self.error(error.reason) }
        return arguments
    }

    private func assignWords(
        to parameters: [ParameterSpecification], _ arguments: inout ParsedArguments
    ) throws(UsageError) {
        var rest = words[...]
        for parameter in parameters {
            guard case .argument(let arity) = parameter.form else { continue }
            switch arity {
            case .any:
                arguments.values[parameter.name] = Array(rest)
                rest = []
            case .optional: if let word = rest.popFirst() { arguments.values[parameter.name] = [word] }
            case .one:
                guard let word = rest.popFirst() else { throw error("missing \(parameter.title)") }
                arguments.values[parameter.name] = [word]
            }
        }
        if let word = rest.first { throw error("unexpected argument “\(word)”") }
    }

    private func check(_ parameter: ParameterSpecification, _ arguments: ParsedArguments) throws(UsageError) {
        guard let words = arguments.values[parameter.name] else { return }
        do throws(InvalidValue) {
            try parameter.check(words)
        } catch {
            throw self.error("invalid \(parameter.title) “\(words.joined(separator: " "))”: \(error.reason)")
        }
    }
}

extension ParameterSpecification {
    var isArgument: Bool {
        if case .argument = form { true } else { false }
    }

    var isOption: Bool {
        if case .option = form { true } else { false }
    }

    /// Whether a word is the short form of this option, alone or with a valid value.
    ///
    /// With an invalid value, it is more likely a long option that lacks a hyphen.
    fileprivate func isShortForm(_ word: String) -> Bool {
        guard let letter, isOption, word.hasPrefix("-\(letter)") else { return false }
        return word.count == 2 || (try? check([String(word.dropFirst(2))])) != nil
    }

    fileprivate var isStandard: Bool { StandardOptions.all(ofCommand: false).contains { $0.name == name } }
}
