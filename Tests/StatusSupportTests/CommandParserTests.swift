// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("Parsing a command line") struct CommandParserTests {
    private static let json = Flag("json", help: "Write JSON.")
    private static let level = Option(
        "level", letter: "l", value: "LEVEL", help: "How serious.", default: 0, completion: .words(["1", "2"])
    ) {
        text throws(InvalidValue) in
        guard let level = Int(text) else { throw InvalidValue("must be a number") }
        return level
    }
    private static let name = Argument<String>.required(
        "name", help: "The name.",
        completion: .dynamic { arguments in
            (arguments[level] == 2 ? ["far"] : ["db", "web"]).map { CompletionCandidate($0, description: "ok") }
        }
    ) {
        text throws(InvalidValue) in
        if text.contains("/") { throw InvalidValue("must not contain a slash") }
        return text
    }
    private static let other = Argument<String?>.optional("other", help: "Another.")
    private static let files = Argument<[String]>.list("file", help: "The files.", completion: .files)

    private static let program = Command<Int>(
        "tool", abstract: "A tool.",
        subcommands: [
            Command("post", abstract: "Post.", parameters: [name, other, level, json]),
            Command(
                "check", abstract: "Check.", discussion: "Exit status: 0 or 1.", parameters: [files, json],
                validate: { arguments throws(InvalidUsage) in
                    if arguments[files].contains("never") { throw InvalidUsage("“never” is not a file") }
                }),
        ])

    private let parser = CommandParser(program, version: "1.2.3")

    private func arguments(_ line: String) throws -> ParsedArguments? {
        guard case .run(_, let arguments) = try parser.parse(line.split(separator: " ").map(String.init)) else {
            return nil
        }
        return arguments
    }

    private func error(_ line: String) -> String? {
        do throws(UsageError) {
            _ = try parser.parse(line.split(separator: " ").map(String.init))
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(
        "options may be anywhere, with their value after a space or an equals sign",
        arguments: [
            "post db --level 2 --json", "--json post --level=2 db", "--level 2 post --json db",
            "post --json --level 1 --level 2 db", "post -l 2 db --json", "post db -l2 --json",
        ])
    func options(line: String) throws {
        let arguments = try #require(try arguments(line))
        #expect(arguments[Self.level] == 2)
        #expect(arguments[Self.json])
        #expect(arguments[Self.name] == "db")
        #expect(arguments[Self.other] == nil)
    }

    @Test("an omitted option has its default value, and an omitted flag is off")
    func defaults() throws {
        let arguments = try #require(try arguments("post db x"))
        #expect(arguments[Self.level] == 0)
        #expect(!arguments[Self.json])
        #expect(arguments[Self.other] == "x")
    }

    @Test("after two hyphens, every word is an argument; a single hyphen is always an argument")
    func hyphens() throws {
        let arguments = try #require(try arguments("post --json -- --level -5"))
        #expect(arguments[Self.name] == "--level")
        #expect(arguments[Self.other] == "-5")
        #expect(try self.arguments("check a - b")?[Self.files] == ["a", "-", "b"])
    }

    @Test(
        "an error says what is wrong and what to do",
        arguments: [
            ("post", "missing NAME"),
            ("psot db", "unknown command “psot”; did you mean “post”?"),
            ("POST db", "unknown command “POST”; did you mean “post”?"),
            ("something-else", "unknown command “something-else”"),
            ("post db --jsno", "unknown option “--jsno”; did you mean “--json”?"),
            ("post db -5", "unknown option “-5”; write “--” before an argument that starts with a hyphen"),
            ("post db -j", "unknown option “-j”; did you mean “--json”?"),
            ("post db -levle 2", "unknown option “-levle”; did you mean “--level”?"),
            ("post db --level", "--level requires a value"),
            ("post db -l", "-l requires a value"),
            ("post db -l x", "invalid --level “x”: must be a number"),
            ("post db --level x", "invalid --level “x”: must be a number"),
            ("post a/b", "invalid NAME “a/b”: must not contain a slash"),
            ("post db --json=yes", "--json takes no value"),
            ("--help=1", "--help takes no value"),
            ("post a b c", "unexpected argument “c”"),
            ("--level 2 check", "check has no option --level"),
            ("--json", "missing command; run “tool --help”"), ("", "missing command; run “tool --help”"),
            ("check never", "“never” is not a file"),
            (
                "--generate-completion-script tcsh",
                "invalid --generate-completion-script “tcsh”: must be bash, zsh or fish"
            ),
        ])
    func errors(line: String, reason: String) { #expect(error(line) == reason) }

    @Test("an error comes with the usage of its command")
    func usage() {
        #expect(throws: UsageError(reason: "missing NAME", usage: "usage: tool post [OPTION…] NAME [OTHER]")) {
            try parser.parse(["post"])
        }
    }

    @Test(
        "help has priority, and shows everything",
        arguments: ["post --help", "--help post", "help post", "post db -h"])
    func help(line: String) throws {
        guard case .show(let text) = try parser.parse(line.split(separator: " ").map(String.init)) else {
            Issue.record("no text")
            return
        }
        #expect(text.hasPrefix("Post.\n\nUsage: tool post [OPTION…] NAME [OTHER]\n"))
        for part in ["NAME", "The name.", "-l, --level LEVEL", "--json", "-h, --help"] { #expect(text.contains(part)) }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("with --help alone, the program shows its commands", arguments: [["--help"], ["help"]])
    func programHelp(words: [String]) throws {
        guard case .show(let text) = try parser.parse(words) else {
            Issue.record("no text")
            return
        }
        #expect(text.contains("post") && text.contains("Check."))
    }

    @Test("--version shows the version and nothing else")
    func version() throws {
        guard case .show("1.2.3") = try parser.parse(["--version"]) else {
            Issue.record("no version")
            return
        }
    }

    @Test(
        "the last word is completed with the words that are valid there",
        arguments: [
            ([""], ["post", "check"]),
            (["p"], ["post"]),
            (["post", ""], ["db", "web"]),
            (["post", "--json", "w"], ["web"]),
            (["post", "db", "--level", ""], ["1", "2"]),
            (["post", "db", "--l"], ["--level"]),
            (["post", "db", "--level="], ["--level=1", "--level=2"]),
            (["post", "db", "--level=2"], ["--level=2"]),
            (["post", "db", "--level=-"], []),
            (["post", "db", "--json="], []),
            (["post", "db", "--j"], ["--json"]),
            (["check", "x"], ["files"]),
            (["post", "--level", "2", ""], ["far"]),
            (["post", "db", "-l", ""], ["1", "2"]),
            (["post", "-l", "2", ""], ["far"]),
            (["post", "--level", "x", "--json", ""], ["db", "web"]),
            (["post", "--v"], ["--version"]),
            (["--g"], ["--generate-completion-script"]),
            (["post", "--g"], []),
            (["--generate-completion-script", ""], ["bash", "zsh", "fish"]),
        ])
    func completion(words: [String], candidates: [String]) async {
        let lines = await parser.candidates(for: words)
        #expect(lines.map { String($0.split(separator: "\t")[0]) } == candidates)
    }

    @Test("each shell's script runs the program", arguments: ["bash", "zsh", "fish"])
    func scripts(shell: String) throws {
        guard case .show(let text) = try parser.parse(["--generate-completion-script", shell]) else {
            Issue.record("no script")
            return
        }
        #expect(text.contains("tool --complete --"))
    }
}
