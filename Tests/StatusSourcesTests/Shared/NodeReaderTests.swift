// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing
import YAML

@Suite("Values in the YAML of a source") struct NodeReaderTests {
    private func percentage(_ text: String, in range: ClosedRange<Double> = 0...100) throws -> Double {
        let node = try #require(try YAMLDocument.read("a: \(text)")?.mapping?.first?.value)
        return try NodeReader(file: "test").percentage(node, of: "warning", in: range)
    }

    @Test("a percentage has its sign, and may have a decimal point")
    func percentages() throws {
        #expect(try percentage("85%") == 85)
        #expect(try percentage("\"2.5%\"") == 2.5)
        #expect(try percentage("0%") == 0)
        #expect(try percentage("100%") == 100)
    }

    @Test(
        "anything else is no percentage, and the message shows one and the range",
        arguments: [
            "85", "0.85", "85 %", "-1%", "101%", ".5%", "1.2.3%", "1e1%", "nan%", "\"%\"", "0x10%", "[85%]", "",
        ])
    func mistakes(_ text: String) {
        let problem = #expect(throws: Problem.self) { try percentage(text, in: 1...100) }
        #expect(problem?.reason == "“warning” must be a percentage such as 85%, from 1% to 100%")
    }
}
