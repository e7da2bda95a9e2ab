// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import StatusModel
import Varlink

@testable import StatusWeb

/// What a visitor of statusd-web sends on one connection, through the handlers of a real one.
enum WebFuzzing {
    /// The first byte chooses a good request, the second one how the rest arrives.
    static func check(_ input: [UInt8]) {
        guard input.count > 2 else { return }
        let good = Self.good[Int(input[0]) % Self.good.count]
        let daemon = FakeDaemon(behaviour: Int(input[1]) / 32)
        let site = Site(
            Site.Settings(hosts: ["db"], hasActions: true, hostName: "here"), limits: HTTPLimits(descriptors: 1024),
            daemon: daemon.connect, loop: daemon.loop)
        site.start()
        let visit = Visit(site, daemon.loop, isLocal: input[1] % 2 == 1)
        visit.send(Array("GET \(good) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        let piece = input[1] % 32 < 16 ? input.count : Int(input[1] % 16) + 1
        var rest = input.dropFirst(2)
        while !rest.isEmpty, visit.isOpen {
            visit.send(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
        }
        daemon.answerAll()
        checkAnswers(visit, isStream: good == "/events")
        visit.leave()
        expect(site.visitors.unread == 0, "no answer is on its way to a visitor who has left")
        expect(site.visitors.streams.isEmpty, "no stream is left of a visitor who has left")
    }

    private static let good = ["/", "/api/list", "/badge/db.svg", "/health", "/metrics", "/events"]

    private static func checkAnswers(_ visit: Visit, isStream: Bool) {
        let answers = Answers(visit.received)
        let statuses = answers.list.map(\.status)
        // A visitor who has too many requests on their way loses the connection without an answer.
        guard let first = statuses.first else { return expect(!visit.isOpen, "a good request is answered") }
        // The daemon may say that there is no such server.
        expect([200, 404, 503].contains(first), "a good request is answered: \(first)")
        expect(!isStream || answers.list.count == 1, "a stream has no end: \(statuses)")
        let known = [200, 304, 400, 403, 404, 405, 409, 413, 417, 421, 431, 503]
        expect(statuses.allSatisfy(known.contains), "the status is one of those that are meant: \(statuses)")
        if let closing = answers.list.firstIndex(where: \.closes) {
            expect(closing == answers.list.count - 1, "after the last answer, there is no other one: \(statuses)")
            expect(!visit.isOpen || answers.endsInStream, "after the last answer, the connection ends")
        }
        expect(answers.isWhole || !visit.isOpen, "an answer has the length that it claims")
    }
}

/// One connection, without a socket.
private final class Visit {
    private let channel: EmbeddedChannel
    private let loop: EmbeddedEventLoop
    private var taken: [UInt8] = []

    init(_ site: Site, _ loop: EmbeddedEventLoop, isLocal: Bool) {
        self.loop = loop
        channel = EmbeddedChannel(loop: loop)
        let address =
            try? isLocal ? SocketAddress(unixDomainSocketPath: "/web") : SocketAddress(ipAddress: "::1", port: 80)
        channel.localAddress = address
        try? Visitor.add(to: channel, site.visitors)
        if let address { channel.connect(to: address, promise: nil) }
        loop.run()
    }

    var isOpen: Bool { channel.isActive }

    func send(_ bytes: [UInt8]) {
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        loop.run()
    }

    /// All that it has received so far.
    var received: [UInt8] {
        while let bytes = try? channel.readOutbound(as: ByteBuffer.self) { taken += bytes.readableBytesView }
        return taken
    }

    /// Ends its side; what it has not sent by now will not come, so the deadlines end the connection.
    func leave() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        loop.advanceTime(by: .seconds(2))
        _ = try? channel.finish(acceptAlreadyClosed: true)
        loop.run()
    }
}

/// A statusd with one server.
private final class FakeDaemon {
    let loop = EmbeddedEventLoop()
    /// 0 to 4: it answers; 5: with errors; 6: late; 7: it ends the connection.
    private let behaviour: Int
    private var late: [() -> Void] = []

    init(behaviour: Int) { self.behaviour = behaviour }

    func connect(_ calls: DaemonCalls) {
        let channel = EmbeddedChannel(handler: calls, loop: loop)
        guard let address = try? SocketAddress(unixDomainSocketPath: "/daemon") else { return }
        channel.connect(to: address, promise: nil)
        while let sent = try? channel.readOutbound(as: ByteBuffer.self) {
            for call in sent.readableBytesView.split(separator: 0) {
                let call = String(decoding: call, as: UTF8.self)
                if behaviour == 6, !call.contains("\"more\"") {
                    late.append { [weak self] in self?.answer(call, channel) }
                } else {
                    answer(call, channel)
                }
            }
        }
    }

    func answerAll() {
        for _ in 0..<64 where !late.isEmpty { late.removeFirst()() }
        loop.run()
    }

    private func answer(_ call: String, _ channel: EmbeddedChannel) {
        if behaviour == 7, !call.contains("Watch") { return channel.close(promise: nil) }
        let isError = behaviour == 5 && !call.contains("Watch")
        let reply = isError ? #"{"error":"org.statusd.monitor.NoSuchServer","parameters":{}}"# : Self.reply(call)
        _ = try? channel.writeInbound(ByteBuffer(string: reply + "\0"))
    }

    private static func reply(_ call: String) -> String {
        let cursor = #"{"epoch":"00000000000000000000000000000001","revision":3}"#
        let server = #"{"name":"db","source":"push","phase":"empty","refreshable":true,"revision":3}"#
        if call.contains("Watch") {
            return
                #"{"continues":true,"parameters":{"event":{"kind":"snapshot","cursor":\#(cursor),"#
                + #""servers":[\#(server)]}}}"#
        }
        if call.contains("GetCursor") { return #"{"parameters":{"cursor":\#(cursor)}}"# }
        return call.contains("List") ? #"{"parameters":{"servers":[\#(server)]}}"# : #"{"parameters":{}}"#
    }
}

/// The answers in what a visitor has received.
private struct Answers {
    var list: [(status: Int, closes: Bool)] = []
    /// Whether the last one is complete.
    var isWhole = true
    /// Whether the last one is a stream, which has no end.
    var endsInStream = false

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let head = Self.head(rest) else {
                isWhole = false
                return
            }
            let lines = String(decoding: rest[..<head], as: UTF8.self).split(separator: "\r\n")
            let parts = lines[0].split(separator: " ")
            expect(lines[0].hasPrefix("HTTP/1.") && parts.count > 2, "an answer begins with its status: \(lines[0])")
            list.append((Int(parts[1]) ?? 0, lines.contains { $0.lowercased() == "connection: close" }))
            let length = lines.first { $0.lowercased().hasPrefix("content-length: ") }?.split(separator: " ").last
            // An answer without a length is a stream, or has no body.
            guard let length = length.flatMap({ Int($0) }) else {
                endsInStream = lines.contains("Content-Type: text/event-stream")
                if endsInStream { return }
                rest = rest[head...]
                continue
            }
            rest = rest[head...]
            // That to HEAD has the length, but no body.
            if rest.starts(with: "HTTP/1.".utf8) { continue }
            isWhole = rest.count >= length || rest.isEmpty
            rest = rest.dropFirst(length)
        }
    }

    /// The index after the empty line.
    private static func head(_ bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while index + 3 < bytes.endIndex {
            if bytes[index] == 13, bytes[index..<index + 4].elementsEqual([13, 10, 13, 10]) { return index + 4 }
            index += 1
        }
        return nil
    }
}
