// SPDX-License-Identifier: Apache-2.0

import Testing
import VarlinkDescription

@Suite("Interface descriptions") struct InterfaceDescriptionTests {
    @Test("a description has its types, methods and errors, with the comments above them")
    func reads() throws {
        let text = """
            # Says things.
            # To whoever asks.
            interface org.example.say

            type Mood (good, bad)

            # Says one thing.
            method Say(what: string, to: ?[]Person, moods: [string]Mood) -> (said: int, more: (a: bool, b: object))
            type Person (
              # What to call them.
              name: string,
              age: float
            )
            error Mute ()
            """
        let description = try InterfaceDescription(parsing: text)
        #expect(description.name == "org.example.say")
        #expect(description.documentation == "Says things.\nTo whoever asks.")
        #expect(description.text == text)
        #expect(description.members.map(\.name) == ["Mood", "Say", "Person", "Mute"])
        #expect(description.methods.map(\.documentation) == ["Says one thing."])
        #expect(description.members[0].kind == .type(.enumeration(["good", "bad"])))
        guard case .type(.structure(let fields)) = description.members[2].kind else {
            Issue.record("Person is a structure")
            return
        }
        #expect(fields.map(\.documentation) == ["What to call them.", ""])
        guard case .method(let parameters, let reply) = description.members[1].kind else {
            Issue.record("Say is a method")
            return
        }
        #expect(parameters.map(\.name) == ["what", "to", "moods"])
        #expect(parameters.map(\.type) == [.string, .nullable(.array(.named("Person"))), .map(.named("Mood"))])
        #expect(reply.map(\.name) == ["said", "more"])
    }

    @Test("Windows line ends are not part of a comment")
    func lineEnds() throws {
        let text = "# One.\n#\n# Two. \ninterface a.b\n# Three.\ntype T (\n  # Four.\n  x: int)\n"
        let plain = try InterfaceDescription(parsing: text)
        let other = try InterfaceDescription(parsing: text.replacing("\n", with: "\r\n"))
        #expect(plain.documentation == "One.\n\nTwo.")
        #expect(other.documentation == plain.documentation)
        #expect(other.members == plain.members)
    }

    @Test("a description may have very many members, fields and names", .timeLimit(.minutes(5)))
    func large() throws {
        // Comparing each name with all earlier names would take several minutes.
        let numbers = 1...50_000
        let text =
            "interface a.b\n" + numbers.map { "type T\($0) ()\n" }.joined()
            + "type E (\(numbers.map { "e\($0)" }.joined(separator: ",")))\n"
            + "error F (\(numbers.map { "f\($0): T\($0)" }.joined(separator: ",")))"
        #expect(try InterfaceDescription(parsing: text).members.count == numbers.count + 2)
    }

    @Test(
        "an error has a position and a reason",
        arguments: [
            ("", 1, 1, "expected “interface”"),
            ("interface one", 1, 11, "expected the interface's name"),
            ("interface a.b\nmethod foo() -> ()", 2, 8, "expected a name that starts with a capital letter"),
            ("interface a.b\nmethod Foo()", 2, 12, "expected “->”"),
            ("interface a.b\nmethod Foo(a: Nope) -> ()", 2, 15, "unknown type “Nope”"),
            ("interface a.b\nmethod Foo(a: nope) -> ()", 2, 15, "unknown type “nope”"),
            ("interface a.b\ntype A (x: int)\ntype A (y: int)", 3, 1, "duplicate name “A”"),
            ("interface a.b\ntype A (x: int, x: int)", 2, 17, "duplicate name “x”"),
            ("interface a.b\ntype A (x__y: int)", 2, 9, "expected a field's name"),
            ("interface a.b\ntype A (x_: int)", 2, 9, "expected a field's name"),
            ("interface a.b\ntype A (x: ??int)", 2, 13, "nullable twice"),
            ("interface a.b\ntype A (x: int;)", 2, 15, "unexpected character “;”"),
            ("interface a.b\ntype A (x: é)", 2, 12, "unexpected character “é”"),
            ("interface a.b\ntype A (a, a)", 2, 12, "duplicate name “a”"),
            ("interface a.b\nstruct A ()", 2, 1, "expected “type”, “method” or “error”"),
        ] as [(String, Int, Int, String)])
    func refuses(_ text: String, _ line: Int, _ column: Int, _ reason: String) {
        let error = #expect(throws: InterfaceDescriptionError.self) { try InterfaceDescription(parsing: text) }
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.reason == reason)
    }
}
