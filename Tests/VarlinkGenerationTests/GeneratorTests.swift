// SPDX-License-Identifier: Apache-2.0

import Testing
import VarlinkDescription
import VarlinkGeneration

@Suite("The generator") struct GeneratorTests {
    private func code(_ members: String, _ options: String = "") throws -> String {
        try Generator.code(
            for: InterfaceDescription(parsing: "interface org.example.a-b\n\(members)"),
            options: GenerationOptions(parsing: options))
    }

    @Test("names follow the interface, or the options")
    func names() throws {
        let plain = try code("method GetURLOf(client_id: int) -> ()")
        #expect(plain.contains("\nprotocol ABService: VarlinkInterface {"))
        #expect(plain.contains("func getURLOf(_ parameters: ABInterface.GetURLOfParameters,"))
        #expect(plain.contains("var clientId: Int\n"))
        #expect(try code("method URLOf() -> ()").contains("func urlOf("))
        let named = try code("method Get() -> ()", "prefix X\naccess package\nimport M")
        #expect(named.contains("\npackage protocol XService"))
        #expect(named.contains("\npackage import M\n"))
    }

    @Test("comments of the description document the code")
    func documentation() throws {
        let text = try code("# Says it.\n#\n# Twice.\nmethod Say(\n  # What.\n  it: string) -> ()")
        #expect(text.contains("    /// Says it.\n    ///\n    /// Twice.\n    func say("))
        #expect(text.contains("        /// What.\n        var it: String\n"))
        #expect(try code("type T (it: int)").contains("Hashable {\n        var it: Int\n"))
    }

    @Test("a service admits every call, unless the options list methods that only read")
    func admits() throws {
        let admission = "func admit(_ call: VarlinkCall) {}"
        #expect(try code("method A() -> ()").contains(admission))
        #expect(try !code("method A() -> ()", "reads A").contains(admission))
    }

    @Test("any text of a description can be embedded")
    func embeds() throws {
        #expect(try code("# \"\"\"# \\#(x)\nmethod A() -> ()").contains("static let text = ##\"\"\"\n"))
        #expect(try code("# \"\"\"#\u{301}\nmethod A() -> ()").contains("static let text = ##\"\"\"\n"))
    }

    @Test("Windows line ends of a description are not in the code")
    func lineEnds() throws {
        let text = try code("# One\r\n# two\r\nmethod A() -> ()")
        #expect(!text.utf8.contains(0x0D))
        #expect(text.contains("    /// One\n    /// two\n"))
    }

    @Test("options may have Windows line ends")
    func lineEndsOfOptions() throws {
        let text = try code("method A() -> ()", "prefix X\r\naccess package # why\r\n")
        #expect(text.contains("package protocol XService"))
    }

    @Test(
        "a description that cannot become code is refused with the reason",
        arguments: [
            ("method A() -> ()", "colour red", "line 1: invalid option “colour red”"),
            ("method A() -> ()", "\naccess secret", "line 2: invalid option “access secret”"),
            ("method A() -> ()", "prefix", "line 1: invalid option “prefix”"),
            ("method A() -> ()", "more B", "options name the method “B”, which org.example.a-b does not have"),
            ("method A() -> ()", "reads A B", "options name the method “B”, which org.example.a-b does not have"),
            ("method A() -> ()", "type B C", "options name the type “B”, which org.example.a-b does not have"),
            ("method A() -> ()", "field A.x C", "options name the field “A.x”, which org.example.a-b does not have"),
            ("method A(a_b: int, aB: int) -> ()", "", "two members of A have the same Swift name “aB”"),
            (
                "type AReply (x: int)\nmethod A() -> (x: int)", "",
                "two members of org.example.a-b need the Swift type AReply; map one to another with the option “type”"
            ),
            (
                "type ABInterface (x: int)\nmethod A() -> ()", "",
                "the type ABInterface has the name of its interface's Swift type; set the option “prefix”"
            ),
        ])
    func refuses(_ members: String, _ options: String, _ reason: String) {
        let error = #expect(throws: GenerationError.self) { try code(members, options) }
        #expect(error?.description == reason)
    }
}
