// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import Testing

@testable import StatusWeb

@Suite("What a visitor may use") struct VisitorTests {
    // MARK: Time

    @Test("a connection without a request ends after half a minute; before the first one, after ten seconds")
    func idle() throws {
        let stage = try Stage()
        let (new, returning) = (try Visit(stage), try Visit(stage))
        try returning.get("/")
        #expect(try returning.status == 200)
        stage.wait(.seconds(9))
        #expect(new.isOpen)
        stage.wait(.seconds(3))
        #expect(!new.isOpen && returning.isOpen)
        stage.wait(.seconds(20))
        #expect(!returning.isOpen)
    }

    @Test("a request that comes in pieces has ten seconds in all")
    func slowRequest() throws {
        let (stage, pieces) = (try Stage(), "GET / HTTP/1.1\r\nHost")
        let visit = try Visit(stage)
        try visit.get("/")
        for piece in pieces.prefix(10) {
            stage.wait(.seconds(1))
            try visit.send(String(piece))
            #expect(visit.isOpen)
        }
        stage.wait(.seconds(2))
        #expect(!visit.isOpen)
    }

    @Test("an answer that the visitor does not read ends the connection after a minute")
    func slowReader() throws {
        let stage = try Stage()
        let visit = try Visit(stage)
        visit.stopReading()
        try visit.get("/")
        stage.wait(.seconds(59))
        #expect(visit.isOpen)
        stage.wait(.seconds(3))
        #expect(!visit.isOpen)
        #expect(stage.site.visitors.unread == 0)
    }

    @Test(
        "a stream lasts as long as its visitor reads; else it ends, after a minute, or 15 seconds if it misses events")
    func stalledStreams() throws {
        let stage = try Stage()
        let (good, lazy, behind) = (try Visit(stage), try Visit(stage), try Visit(stage))
        for visit in [good, lazy, behind] { try visit.get("/events") }
        lazy.stopReading()
        behind.stopReading()
        behind.visitor?.sendEvent(ByteBuffer(repeating: 0x20, count: 60_000))
        behind.visitor?.sendEvent(ByteBuffer(repeating: 0x20, count: 10_000))
        stage.wait(.seconds(14))
        #expect(lazy.isOpen && behind.isOpen)
        stage.wait(.seconds(3))
        #expect(lazy.isOpen && !behind.isOpen)
        stage.wait(.seconds(50))
        #expect(!lazy.isOpen && good.isOpen)
        #expect(try good.received.hasSuffix("}\n\n\r\n"))
    }

    @Test("if the daemon does not answer within half a minute, the visitor is told so; its health, within two seconds")
    func slowDaemon() throws {
        let stage = try Stage()
        let (list, health) = (try Visit(stage), try Visit(stage))
        try list.get("/api/list")
        try health.get("/health")
        stage.wait(.seconds(2))
        #expect(try health.status == 503 && list.status == nil)
        stage.wait(.seconds(28))
        #expect(try list.status == 503)
        #expect(stage.calls.isEmpty && list.isOpen)
    }

    // MARK: Number

    @Test(
        "a new visitor takes the place of the one that sends nothing for longest; those with an answer or a stream stay"
    )
    func eviction() throws {
        let stage = try Stage(descriptors: 48 + 10)
        let (stream, asking) = (try Visit(stage), try Visit(stage))
        try stream.get("/events")
        try asking.get("/api/list")
        let waiting = try (0..<8).map { _ in try Visit(stage) }
        stage.wait(.seconds(1))
        try waiting[0].get("/")
        let new = try Visit(stage)
        #expect(waiting.map(\.isOpen).filter { !$0 }.count == 1 && waiting[0].isOpen)
        try new.get("/")
        #expect(try new.status == 200)
        // Those who had an answer stay longer than those who never finish a request.
        stage.wait(.seconds(1))
        for _ in 0..<20 { try Visit(stage).send("GET") }
        #expect(waiting[0].isOpen && new.isOpen && stream.isOpen && asking.isOpen)
    }

    @Test("nothing asks the daemon for what is behind a stream, or behind a last answer")
    func requestsBehind() throws {
        let (stage, list) = (try Stage(), "GET /api/list HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let (stream, last) = (try Visit(stage), try Visit(stage))
        try stream.get("/events")
        try stream.send(list + list)
        stream.leave()
        try last.send("GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n" + list)
        #expect(try last.count(of: "HTTP/1.1") == 1)
        #expect(stage.calls.isEmpty)
    }

    @Test("if nobody waits, one that gets an answer makes room; there are never more visitors than descriptors")
    func evictionOfReaders() throws {
        let stage = try Stage(descriptors: 64)
        var visits: [Visit] = []
        for number in 0..<100 {
            visits.append(try Visit(stage))
            visits[number].stopReading()
            try visits[number].get(number % 2 == 0 ? "/" : "/api/list")
        }
        #expect(visits.filter(\.isOpen).count == 16)
        #expect(visits[99].isOpen)
    }

    @Test("half of the visitors may have streams; the next one gets a refusal")
    func streams() throws {
        let stage = try Stage(descriptors: 48 + 10)
        let visits = try (0..<6).map { _ in try Visit(stage) }
        for visit in visits { try visit.get("/events") }
        #expect(try visits.map { try $0.status } == [200, 200, 200, 200, 200, 503])
        visits[0].leave()
        try visits[5].get("/events")
        #expect(try visits[5].received.hasSuffix("\r\n\r\n") == true)
        #expect(stage.site.visitors.streams.count == 5)
    }

    @Test(
        "a visitor may send 16 requests before the first answer, and each is answered; with one more, it is sent away")
    func ahead() throws {
        let stage = try Stage()
        let (good, greedy) = (try Visit(stage), try Visit(stage))
        let list = "GET /api/alerts HTTP/1.1\r\nHost: localhost\r\n\r\n"
        try good.send(String(repeating: list, count: 16))
        try greedy.send(String(repeating: list, count: 17))
        #expect(good.isOpen && !greedy.isOpen)
        for _ in 0..<16 { try stage.answer("{}") }
        #expect(try good.count(of: "200 OK") == 16)
    }

    // MARK: Memory

    @Test("a body may have 4096 bytes", arguments: [(4096, 405), (4097, 413)])
    func body(_ count: Int, _ status: Int) throws {
        let visit = try Visit(try Stage())
        let body = String(repeating: "x", count: count)
        try visit.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(count)\r\n\r\n\(body)")
        #expect(try visit.status == status)
        #expect(visit.isOpen == (status == 405))
    }

    @Test(
        "if unread answers are too many bytes, the visitor who has not read for the longest time is sent away"
    )
    func unread() throws {
        let stage = try Stage { $0.unread = 100_000 }
        let visits = try (0..<4).map { _ in try Visit(stage) }
        for visit in visits {
            visit.stopReading()
            try visit.get("/page.js")
            stage.wait(.seconds(1))
        }
        #expect(visits.map(\.isOpen) == [false, false, true, true])
        for visit in visits { visit.leave() }
        #expect(stage.site.visitors.unread == 0)
    }

    @Test("snapshots that visitors of streams do not read count as unread answers")
    func unreadSnapshots() throws {
        let stage = try Stage { $0.unread = 100_000 }
        let visits = try (0..<4).map { _ in try Visit(stage) }
        for visit in visits {
            try visit.get("/events")
            visit.stopReading()
            visit.visitor?.sendEvent(ByteBuffer(repeating: 0x20, count: 40_000), isWhole: true)
            stage.wait(.seconds(1))
        }
        #expect(visits.map(\.isOpen) == [false, false, true, true])
    }

    @Test("answers to a visitor who sends several requests at once, and leaves, do not count as unread for ever")
    func unreadAndLeft() throws {
        let stage = try Stage()
        let visit = try Visit(stage)
        visit.stopReading()
        for _ in 0..<5 { try visit.get("/") }
        #expect(stage.site.visitors.unread > 5000)
        visit.leave()
        #expect(stage.site.visitors.unread == 0)
    }

    @Test("who sends several requests at once gets all answers, also if the last one ends the connection")
    func severalAnswers() throws {
        let visit = try Visit(try Stage())
        visit.stopReading()
        try visit.get("/page.css")
        try visit.send("GET /page.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        visit.readOne()
        #expect(visit.isOpen)
        while visit.isOpen { visit.readOne() }
        #expect(try visit.count(of: "200 OK") == 2)
    }

    @Test("an answer of many replies may have 4 MiB", arguments: [(30, 200), (64, 413)])
    func longAnswers(_ count: Int, _ status: Int) throws {
        let stage = try Stage()
        let visit = try Visit(stage)
        try visit.get("/api/summary?" + String(repeating: "server=db&", count: count))
        for _ in 0..<count { try stage.answer("{\"x\":\"\(String(repeating: "x", count: 100_000))\"}") }
        #expect(try visit.status == status)
    }

    @Test("at most 16 questions are put to the daemon at once, and those of visitors who have left are not")
    func questions() throws {
        let stage = try Stage()
        let visits = try (0..<500).map { _ in try Visit(stage) }
        for visit in visits { try visit.get("/api/list") }
        #expect(stage.calls.count == 8)
        for visit in visits[8..<499] { visit.leave() }
        try stage.answer("{}")
        #expect(try visits[7].status == 200)
        #expect(stage.calls.count == 1)
    }

    @Test("visitors who read histories do not delay others")
    func histories() throws {
        let stage = try Stage()
        let visits = try (0..<100).map { _ in try Visit(stage) }
        for visit in visits.dropLast() { try visit.get("/api/history/db") }
        try visits[99].get("/health")
        #expect(stage.calls.count == 9)
    }

    @Test("a visitor who asks much is not before one who asks once")
    func turns() throws {
        let stage = try Stage()
        let many = try (0..<100).map { _ in try Visit(stage) }
        for visit in many { try visit.get("/api/list") }
        let other = try Visit(stage, from: "192.0.2.7")
        try other.get("/api/list")
        for _ in 0..<2 { try stage.answer("{}") }
        #expect(try other.status == 200)
    }

    @Test("while the daemon hangs, nothing is left of visitors who come, ask and go")
    func hangingDaemon() throws {
        let stage = try Stage()
        let waiting = try (0..<8).map { _ in try Visit(stage) }
        for visit in waiting { try visit.get("/api/list") }
        for _ in 0..<1000 {
            let visit = try Visit(stage)
            try visit.get("/api/list")
            visit.leave()
        }
        #expect(stage.site.daemon.count < 100)
    }

    // MARK: Malformed requests

    @Test(
        "a malformed request is refused once, and ends the connection",
        arguments: ["", "GET /api/list HTTP/1.1\r\nHost: a.localhost\r\n\r\n"])
    func malformed(_ before: String) throws {
        let stage = try Stage()
        let visit = try Visit(stage)
        try visit.send(before + "GET / HTTP/2.0\r\nHost: localhost\r\n\r\n")
        try stage.answer("{}")
        #expect(try visit.count(of: "400 Bad Request") == 1)
        #expect(try visit.received.hasSuffix("the request is malformed\n"))
        #expect(!visit.isOpen)
    }
}
#endif
