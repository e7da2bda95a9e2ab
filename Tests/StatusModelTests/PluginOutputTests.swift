// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@Suite("The output of a plugin") struct PluginOutputTests {
    private func parts(_ output: String) -> [String?] {
        let output = PluginOutput(output: output, errors: "")
        return [output.longOutput, output.performanceData]
    }

    @Test(
        "what follows the first line is long output, and what follows a bar is performance data",
        arguments: [
            ("", nil, nil), ("OK", nil, nil), ("OK\n\n", nil, nil), ("OK | a=1 b=2", nil, "a=1 b=2"),
            // The example of the Nagios plugin API.
            (
                """
                DISK OK - free space: / 3326 MB (56%); | /=2643MB;5948;5958;0;5968
                / 15272 MB (77%);
                /boot 68 MB (69%);
                /home 69357 MB (27%); | /boot=68MB;88;93;0;98
                /home=69357MB;253404;253409;0;253414
                """,
                "/ 15272 MB (77%);\n/boot 68 MB (69%);\n/home 69357 MB (27%); ",
                "/=2643MB;5948;5958;0;5968 /boot=68MB;88;93;0;98 /home=69357MB;253404;253409;0;253414"
            ),
            ("\n\nOK\nmore", "more", nil), ("OK\n| x=1", nil, "x=1"), ("OK\r\nb", "b", nil),
            ("\n  \nthird OK | p=1\nmore", "more", "p=1"),
        ] as [(String, String?, String?)])
    func parts(output: String, long: String?, data: String?) { #expect(parts(output) == [long, data]) }

    @Test("a plugin that wrote only to standard error, such as a script that crashed, has the rest of that")
    func errors() {
        let output = PluginOutput(output: "", errors: "Traceback:\n  File | x\nModuleNotFoundError: No module\n")
        #expect(output.longOutput == "  File | x\nModuleNotFoundError: No module")
        #expect(output.performanceData == nil)
    }

    @Test("a cut shows")
    func cut() {
        let lines = String(repeating: "line\n", count: 2000)
        #expect(PluginOutput(output: lines, errors: "").output.hasSuffix("… (cut)"))
    }

    @Test("it is visible lines of a limited length, and stays the same when it is read again")
    func visible() {
        let wild = "OK \u{1b}[31m\tx\nline \u{202e}two\r\n" + String(repeating: "\u{1}", count: 9000)
        let output = PluginOutput(output: wild, errors: wild)
        for text in [output.output, output.errors] {
            #expect(text.hasPrefix("OK \\u{1b}[31m x\nline \\u{202e}two"))
            #expect(text.utf8.count <= PluginOutput.maximumBytes)
        }
        #expect(PluginOutput(output: output.output, errors: output.errors) == output)
    }
}
