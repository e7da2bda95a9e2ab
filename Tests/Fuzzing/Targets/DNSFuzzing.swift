// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusSupport

@testable import StatusWorkers
@testable import Varlink

/// A message of a name server: one byte for the type that was asked for, then the message after its ID.
enum DNSFuzzing {
    static func check(_ input: [UInt8]) {
        let types = DNSSettings.RecordType.allCases
        var settings = DNSSettings(name: "example.org")
        settings.type = types[Int(input.first ?? 0) % types.count]
        let question = DNSQuestion(settings, id: 0x1234)
        let message = [0x12, 0x34] + input.dropFirst()
        guard let reply = DNSReply(message, to: question) else { return }
        expect((0...15).contains(reply.code), "a response code has four bits")
        expect((0...Int(Int32.max)).contains(reply.lifetime), "a lifetime is a positive number of 31 bits")
        expect(reply.answers.count <= message.count / 11, "each answer takes some bytes")
        check(reply.outcome(of: settings, after: .milliseconds(1)))
        // What a server answered once is what is expected of it.
        if reply.code == 0, !reply.answers.isEmpty {
            settings.expected = reply.answers
            guard case .expected = reply.outcome(of: settings, after: .zero) else {
                return expect(false, "answers are equal to themselves: \(reply.answers)")
            }
        }
        settings.expected = ["another answer"]
        check(reply.outcome(of: settings, after: .zero))
    }

    private static func check(_ outcome: DNSOutcome) {
        let bytes = WorkerMessage.encode(outcome)
        expect(bytes.count <= WorkerMessage.maximumAnswerBytes, "each outcome fits into a message")
        let read = bytes.dropLast().withUnsafeBytes { try? WorkerMessage.decode(DNSOutcome.self, from: $0) }
        expect(read != nil, "the daemon can read each outcome")
        switch outcome {
        case .expected(let text, _, _), .unexpected(let text), .notAsked(let text):
            TextProperties.expectVisible(text)
            TextProperties.expectCheapToCompare(text)
            expect(!text.isEmpty, "each outcome has a text")
        }
    }
}
