// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@Suite("Visible text") struct VisibleTextTests {
    @Test(
        "an excerpt is escaped, and has no more bytes than it may; what was cut ends in an ellipsis",
        arguments: [
            ("short", "short"), ("12345678", "12345678"), ("123456789", "12345678…"), ("a\nb", "a\\nb"),
            ("\u{7f}\u{7f}", "\\u{7f}\\u…"), ("ääääx", "ääää…"), ("xääää", "xäää…"), ("", ""),
        ])
    func excerpt(text: String, shown: String) { #expect(VisibleText.excerpt(text, bytes: 8) == shown) }
}
