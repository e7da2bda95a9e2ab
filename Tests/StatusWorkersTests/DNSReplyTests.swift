// SPDX-License-Identifier: Apache-2.0

import Testing
import Varlink

@testable import SourceKinds
@testable import StatusWorkers

@Suite("Replies of name servers") struct DNSReplyTests {
    private let settings: DNSSettings
    private let question: DNSQuestion

    init() {
        var settings = DNSSettings(name: "Example.org")
        settings.expected = ["192.0.2.7"]
        self.settings = settings
        question = DNSQuestion(settings, id: 0x1234)
    }

    /// A message to the question with these records; a record's name is the one in the question.
    private func message(_ records: [[UInt8]], flags: [UInt8] = [0x81, 0x80]) -> [UInt8] {
        var bytes = Array(question.bytes[..<2]) + flags
        bytes += [0, 1, 0, UInt8(records.count), 0, 0, 0, 0]
        bytes += question.bytes[12...]
        for record in records { bytes += [0xC0, 12] + record }
        return bytes
    }

    /// The rest of a record after its name.
    private func record(_ type: UInt8, _ data: [UInt8], lifetime: [UInt8] = [0, 0, 1, 44]) -> [UInt8] {
        var bytes: [UInt8] = [0, type, 0, 1]
        bytes += lifetime
        bytes += [0, UInt8(data.count)]
        return bytes + data
    }

    @Test("a question has the name in labels, the type, and the class of the internet")
    func asks() {
        let header: [UInt8] = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        let rest = Array("\u{7}Example\u{3}org\u{0}\u{0}\u{1}\u{0}\u{1}".utf8)
        #expect(question.bytes == header + rest)
    }

    @Test(
        "the name of an address is asked for below the tree of its family",
        arguments: [
            ("192.0.2.1", "1.2.0.192.in-addr.arpa"), ("a.example.org", "a.example.org"),
            ("2001:db8::1", "1" + String(repeating: ".0", count: 23) + ".8.b.d.0.1.0.0.2.ip6.arpa"),
        ])
    func reverse(_ address: String, _ name: String) {
        var settings = DNSSettings(name: address)
        settings.type = .ptr
        #expect(DNSQuestion(settings).name == name)
    }

    @Test("answers are read, with the shortest lifetime")
    func reads() throws {
        let first = record(1, [192, 0, 2, 7])
        let second = record(1, [192, 0, 2, 8], lifetime: [0, 0, 0, 9])
        let reply = try #require(DNSReply(message([first, second]), to: question))
        #expect(reply.answers == ["192.0.2.7", "192.0.2.8"])
        #expect(reply.lifetime == 9)
        let outcome = reply.outcome(of: settings, after: .zero)
        #expect(outcome == .unexpected(reason: "unexpected 192.0.2.8"))
    }

    @Test("a lifetime with the highest bit is none")
    func lifetime() throws {
        let reply = DNSReply(message([record(1, [192, 0, 2, 7], lifetime: [0xFF, 0, 0, 0])]), to: question)
        #expect(reply?.lifetime == 0)
    }

    @Test("a message with another ID, or that is cut at any place, is no reply")
    func broken() {
        let whole = message([record(1, [192, 0, 2, 7])])
        #expect(DNSReply([0x12, 0x35] + whole.dropFirst(2), to: question) == nil)
        for end in whole.indices { #expect(DNSReply(Array(whole[..<end]), to: question) == nil, "\(end)") }
        #expect(DNSReply(whole, to: question) != nil)
    }

    @Test("data that are shorter or longer than their type has are refused")
    func lengths() {
        for data in [[192, 0, 2], [192, 0, 2, 7, 7], []] as [[UInt8]] {
            #expect(DNSReply(message([record(1, data)]), to: question) == nil)
        }
    }

    @Test("a message that contains itself is refused")
    func loop() {
        // The name of an alias that is a pointer to its own place.
        let place = UInt8(message([]).count + 12)
        #expect(DNSReply(message([record(5, [0xC0, place])]), to: question) == nil)
    }

    @Test("a text of combining characters is cheap to compare, and one that is empty is visible")
    func texts() throws {
        var settings = DNSSettings(name: "example.org")
        settings.type = .txt
        let text = DNSQuestion(settings, id: 0x1234)
        var head: [UInt8] = [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]
        head += text.bytes[12...]
        head += [0xC0, 12]
        let marks = Array(String(repeating: "\u{301}", count: 100).utf8)
        let reply = try #require(DNSReply(head + record(16, [200] + marks), to: text))
        #expect(reply.answers[0].unicodeScalars.contains("\u{34F}"))
        for blank in [[0], [1, 0x0A], [2, 0x20, 0x20]] as [[UInt8]] {
            let reply = try #require(DNSReply(head + record(16, blank), to: text))
            let outcome = reply.outcome(of: settings, after: .zero)
            #expect(outcome == .expected(text: "\"\"", lifetime: 300, duration: .zero), "\(blank)")
        }
    }

    private func received<Value: JSONReadable & JSONWritable>(_ value: Value) throws -> Value {
        try WorkerMessage.encode(value).dropLast().withUnsafeBytes { try WorkerMessage.decode(from: $0) }
    }

    @Test("a request and each outcome arrive unchanged")
    func messages() throws {
        var request = DNSRequest(settings, timeout: .milliseconds(1500))
        #expect(try received(request) == request)
        (request.settings.type, request.settings.server, request.settings.port) = (.aaaa, "::1", 5353)
        #expect(try received(request) == request)
        let outcomes: [DNSOutcome] = [
            .expected(text: "192.0.2.7", lifetime: 300, duration: .microseconds(1234)), .unexpected(reason: "gone"),
            .notAsked(reason: "no server"),
        ]
        for outcome in outcomes { #expect(try received(outcome) == outcome) }
    }
}
