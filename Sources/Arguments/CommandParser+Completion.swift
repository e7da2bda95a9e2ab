// SPDX-License-Identifier: Apache-2.0

extension CommandParser {
    /// The candidates for the last word, one line each, with the description after a tab.
    public func candidates(for words: [String]) async -> [String] {
        guard let current = words.last else { return [] }
        let before = Array(words.dropLast())
        let command = program.subcommands.isEmpty ? program : subcommand(in: before)
        var candidates: [(word: String, description: String)] = []
        if current.hasPrefix("-"), !before.contains("--") {
            candidates = options(of: command)
        } else if let option = optionBefore(before, of: command) {
            candidates = await values(of: option, after: before)
        } else if let command {
            candidates = await argument(before, of: command)
        } else {
            candidates = program.subcommands.map { ($0.name, $0.abstract) }
        }
        return candidates.filter { $0.word.hasPrefix(current) }.map { "\($0.word)\t\($0.description)" }
    }

    private func subcommand(in words: [String]) -> Command<Status>? {
        words.lazy.compactMap { word in program.subcommands.first { $0.name == word } }.first
    }

    private func specifications(of command: Command<Status>?) -> [ParameterSpecification] {
        (command?.parameters ?? program.subcommands.flatMap(\.parameters)).map(\.specification)
            + StandardOptions.all(ofCommand: command != nil && !program.subcommands.isEmpty)
    }

    private func options(of command: Command<Status>?) -> [(String, String)] {
        var seen: Set<String> = []
        return specifications(of: command).filter { !$0.isArgument && seen.insert($0.name).inserted }.map {
            ("--\($0.name)", $0.help)
        }
    }

    /// The option whose value comes next.
    private func optionBefore(_ words: [String], of command: Command<Status>?) -> ParameterSpecification? {
        guard let last = words.last, last.hasPrefix("-") else { return nil }
        return specifications(of: command).first { $0.takesNextWord(after: last) }
    }

    private func argument(_ before: [String], of command: Command<Status>) async -> [(String, String)] {
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
        let place = program.subcommands.isEmpty ? count : count - 1
        let arguments = specifications(of: command).filter(\.isArgument)
        guard let last = arguments.last else { return [] }
        if place < arguments.count { return await values(of: arguments[place], after: before) }
        return last.form == .argument(.any) ? await values(of: last, after: before) : []
    }

    private func values(of parameter: ParameterSpecification, after words: [String]) async -> [(String, String)] {
        switch parameter.completion {
        case .nothing, .files: []
        case .words(let words): words.map { ($0, parameter.help) }
        case .dynamic(let find): await find(options(in: words)).map { ($0, parameter.help) }
        }
    }

    /// The valid options among these words.
    private func options(in words: [String]) -> ParsedArguments {
        var line = CommandLineReader(program: program)
        // What precedes an invalid word counts.
        try? line.read(words)
        return line.validOptions
    }
}

extension ParameterSpecification {
    /// Whether a word is this option without its value, which comes next.
    fileprivate func takesNextWord(after word: String) -> Bool {
        isOption && (word == "--\(name)" || letter.map { word == "-\($0)" } ?? false)
    }
}
