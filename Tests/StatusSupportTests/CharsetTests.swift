// SPDX-License-Identifier: Apache-2.0

import StatusSupport
import Testing

@Suite("The character set of the locale") struct CharsetTests {
    @Test(
        "if the locale is not UTF-8, quotes and dots become ASCII, and other characters are unchanged",
        arguments: [
            ([:], false), (["LANG": "C"], false), (["LANG": "de_DE"], false), (["LANG": "de_DE.ISO-8859-1"], false),
            (["LC_ALL": "POSIX", "LANG": "C.UTF-8"], false), (["LC_CTYPE": "C", "LANG": "C.UTF-8"], false),
            (["LANG": "utf8"], false), (["LANG": "en_US.UTF-8"], true), (["LC_CTYPE": "de_DE.utf8@euro"], true),
            (["LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"], true),
        ] as [([String: String], Bool)])
    func charset(_ environment: [String: String], _ isUTF8: Bool) {
        let text = Charset(environment: environment).text("“db”: it’s ‘über’ 5 °…")
        #expect(text == (isUTF8 ? "“db”: it’s ‘über’ 5 °…" : "\"db\": it's 'über' 5 °..."))
    }
}
