// SPDX-License-Identifier: Apache-2.0

extension CommandParser {
    /// Returns the candidates for the last word, one line each, with a description after a tab.
    ///
    /// If file names are expected, it returns the single line `files`.
    public func candidates(for words: [String]) async -> [String] {
        guard let current = words.last else { return [] }
        let before = Array(words.dropLast())
        let command = program.subcommands.isEmpty ? program : subcommand(in: before)
        if current.hasPrefix("--"), !before.contains("--"), let equals = current.firstIndex(of: "=") {
            return await self.candidates(
                for: current[current.index(after: equals)...], of: String(current[..<equals]), before)
        }
        var candidates: [CompletionCandidate] = []
        if current.hasPrefix("-"), !before.contains("--") {
            candidates = options(of: command)
        } else if let parameter = optionBefore(before, of: command)
            ?? command.flatMap({ argument(after: before, of: $0) })
        {
            if case .files = parameter.completion { return ["files"] }
            candidates = await values(of: parameter, after: before)
        } else if command == nil {
            candidates = program.subcommands.map { CompletionCandidate($0.name, description: $0.abstract) }
        }
        return candidates.filter { $0.word.hasPrefix(current) }.map { "\($0.word)\t\($0.description)" }
    }

    /// Returns the candidates for an option with its value in the same word, as in `--level=crit`.
    private func candidates(for value: Substring, of option: String, _ before: [String]) async -> [String] {
        guard !value.hasPrefix("-"), optionBefore([option], of: subcommand(in: before)) != nil else { return [] }
        let values = await candidates(for: before + [option, String(value)])
        return values == ["files"] ? values : values.map { "\(option)=\($0)" }
    }

    private func subcommand(in words: [String]) -> Command<Status>? {
        words.lazy.compactMap { word in program.subcommands.first { $0.name == word } }.first
    }

    private func specifications(of command: Command<Status>?) -> [ParameterSpecification] {
        (command?.parameters ?? program.subcommands.flatMap(\.parameters)).map(\.specification)
            + StandardOptions.all(ofCommand: command != nil && !program.subcommands.isEmpty)
    }

    private func options(of command: Command<Status>?) -> [CompletionCandidate] {
        var seen: Set<String> = []
        return specifications(of: command).filter { !$0.isArgument && seen.insert($0.name).inserted }.map {
            CompletionCandidate("--\($0.name)", description: $0.help)
        }
    }

    /// The option whose value is the next word.
    private func optionBefore(_ words: [String], of command: Command<Status>?) -> ParameterSpecification? {
        guard let last = words.last, last.hasPrefix("-") else { return nil }
        return specifications(of: command).first { $0.takesNextWord(after: last) }
    }

    /// The argument that is the next word.
    private func argument(after before: [String], of command: Command<Status>) -> ParameterSpecification? {
        var count = 0
        var words = before[...]
        while let word = words.popFirst() {
            if specifications(of: command).contains(where: { $0.takesNextWord(after: word) }) {
                words = words.dropFirst()
            } else if !word.hasPrefix("-") {
                count += 1
            }
        }
        // The first word is the command, unless the program has none.
        let position = program.subcommands.isEmpty ? count : count - 1
        let arguments = specifications(of: command).filter(\.isArgument)
        if position < arguments.count { return arguments[position] }
        return arguments.last.flatMap { $0.form == .argument(.any) ? $0 : nil }
    }

    private func values(of parameter: ParameterSpecification, after words: [String]) async -> [CompletionCandidate] {
        switch parameter.completion {
        case .nothing, .files: []
        case .words(let words): words.map { CompletionCandidate($0, description: parameter.help) }
        case .dynamic(let find): await find(options(in: words))
        }
    }

    /// The valid options among these words.
    private func options(in words: [String]) -> ParsedArguments {
        var line = CommandLineReader(program: program)
        // The words before an invalid one are still used.
        try? line.read(words)
        return line.validOptions
    }
}

extension ParameterSpecification {
    /// Whether a word is this option, with its value in the next word.
    fileprivate func takesNextWord(after word: String) -> Bool {
        isOption && (word == "--\(name)" || letter.map { word == "-\($0)" } ?? false)
    }
}
