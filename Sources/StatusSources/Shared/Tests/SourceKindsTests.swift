// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusSources
import Testing

@Suite("The kinds of sources") struct SourceKindsTests {
    @Test("a source can be made from the settings of each kind")
    func making() {
        for kind in SourceKinds.all { #expect(kind is any SourceMaking.Type, "\(kind)") }
    }

    @Test("no two kinds have the same key")
    func keys() {
        #expect(Set(SourceKinds.keys).count == SourceKinds.all.count)
    }
}
