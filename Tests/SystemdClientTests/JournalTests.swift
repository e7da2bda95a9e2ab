// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import SystemdClient

@Suite("Journal fields") struct JournalTests {
    private let names = JournalFieldNames(prefix: "STATUSD_", exact: ["server"])

    @Test(
        "metadata keys become fields with the names that users filter by",
        arguments: [
            ("server", "SERVER"), ("message-id", "MESSAGE_ID"), ("old-text", "STATUSD_OLD_TEXT"),
            ("a.b c", "STATUSD_A_B_C"),
        ])
    func names(_ key: String, _ name: String) { #expect(names.name(for: key) == name) }

    @Test(
        "a name is valid whatever its key is",
        arguments: ["", "_x", "1", "ü", "a\nb=c", "\0", String(repeating: "k", count: 99)])
    func valid(_ key: String) {
        for names in [names, JournalFieldNames(prefix: "", exact: [])] {
            guard let name = names.name(for: key) else { continue }
            #expect(name.wholeMatch(of: /[A-Z][A-Z0-9_]{0,63}/) != nil, "\(name)")
        }
    }

    @Test("a value of several lines is sent with its length, so that no line of it is a field")
    func datagram() {
        var fields = JournalFields()
        fields.append("MESSAGE", "a=b")
        fields.append("TEXT", "c\nPRIORITY=0")
        fields.append("EMPTY", "")
        let length = "\u{C}\0\0\0\0\0\0\0"
        #expect(
            String(decoding: fields.datagram, as: UTF8.self)
                == "MESSAGE=a=b\nTEXT\n\(length)c\nPRIORITY=0\nEMPTY=\n")
    }

    @Test("invariant 11: a newline in a status starts no assignment for the service manager")
    func oneLine() {
        #expect(ServiceManager.Notification.status("a\nREADY=1\u{1b}").assignments == #"STATUS=a\\nREADY=1\\u{1B}"#)
        #expect(ServiceManager.Notification.status(#"C:\"#).assignments == #"STATUS=C:\\"#)
        #expect(ServiceManager.Notification.reloading.assignments.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
    }

    @Test("a line on standard error contains nothing that controls a terminal or the direction of writing")
    func visibleLine() {
        let event = LogEvent(
            level: .info, message: "a\u{1b}b\u{202e}c\u{2067}d\u{61c}e ü", metadata: nil, source: "", file: "",
            function: "",
            line: 0)
        #expect(
            TextLogHandler(identifier: "x").line(for: event, [:]) == "x: a\\u{1B}b\\u{202E}c\\u{2067}d\\u{061C}e ü\n")
    }

    @Test("a line that the service manager would ignore for its length is cut", arguments: [#"\"#, "x", "\u{1}", "ü"])
    func longLine(_ character: Character) {
        let text = ServiceManager.Notification.status(String(repeating: character, count: 5000)).assignments
        #expect((4000..<4096).contains(text.utf8.count))
        #expect(text.hasSuffix("…"))
    }
}
