// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

@testable import EventLoopIO

@Suite("Messages to receivers that may not read", .timeLimit(.minutes(5))) struct OutboxTests {
    /// A receiver that reads nothing until the test tells it to.
    private final class Receiver: Sendable {
        let mayRead = DispatchSemaphore(value: 0)
        let isCalled = DispatchSemaphore(value: 0)
        private let received = Mutex<[String]>([])
        var all: [String] { received.withLock { $0 } }

        func take(_ message: String) {
            isCalled.signal()
            mayRead.wait()
            received.withLock { $0.append(message) }
            // It continues to read.
            mayRead.signal()
        }
    }

    @Test("a receiver that does not read delays no sender; later it gets the newest messages and the number dropped")
    func stuckReceiver() {
        let receiver = Receiver()
        let outbox = Outbox<String>(capacity: 3) {
            receiver.take($0)
        } reportLoss: {
            receiver.take("\($0) lost")
        }
        outbox.post("1", size: 1)
        receiver.isCalled.wait()
        for number in 2...10 { outbox.post("\(number)", size: 1) }
        #expect(receiver.all == [])
        receiver.mayRead.signal()
        outbox.flush(within: .seconds(60))
        #expect(receiver.all == ["1", "8", "9", "10", "6 lost"])
        outbox.post("11", size: 1)
        outbox.flush(within: .seconds(60))
        #expect(receiver.all.last == "11")
    }

    @Test("waiting for a receiver that does not read times out")
    func limitedFlush() {
        let receiver = Receiver()
        let outbox = Outbox<String>(capacity: 3) {
            receiver.take($0)
        } reportLoss: { _ in
        }
        outbox.post("1", size: 1)
        outbox.flush(within: .milliseconds(1))
        #expect(receiver.all == [])
        receiver.mayRead.signal()
    }

    @Test("a message is sent by its caller while there is room; then it waits, and later ones wait behind it")
    func room() {
        let receiver = Receiver()
        let sent = Mutex<[String]>([])
        let outbox = Outbox<String>(capacity: 100) { message in
            sent.withLock { sent in
                // There is room again for the third, which must wait for the second.
                if message != "2" { sent.append(message) }
                return message != "2"
            }
        } send: {
            receiver.take($0)
        } reportLoss: { _ in
        }
        outbox.post("1", size: 1)
        #expect(sent.withLock { $0 } == ["1"])
        outbox.post("2", size: 1)
        outbox.post("3", size: 1)
        receiver.mayRead.signal()
        outbox.flush(within: .seconds(60))
        #expect(sent.withLock { $0 } == ["1"])
        #expect(receiver.all == ["2", "3"])
    }

    @Test("a message may replace an unsent one in its position, before the messages in between")
    func replacingInPlace() {
        var queue = OutboxQueue<String>(capacity: 10)
        for message in ["status 1", "barrier", "status 2"] {
            _ = queue.add(message, size: 3, inPlace: true) { $0.hasPrefix("status") && message.hasPrefix("status") }
        }
        #expect(drain(&queue) == ["status 2", "barrier"])
    }

    @Test("a message may replace an unsent one, and is sent after the messages in between")
    func replacing() {
        var queue = OutboxQueue<String>(capacity: 100)
        let additions = ["status 1", "ready", "status 2"].map { message in
            queue.add(message, size: 1) { $0.hasPrefix("status") && message.hasPrefix("status") }
        }
        #expect(additions == [true, false, false])
        #expect(drain(&queue) == ["ready", "status 2"])
    }

    @Test("a message larger than the capacity is sent if it is the newest")
    func largeMessage() {
        var queue = OutboxQueue<String>(capacity: 10)
        for (message, size) in [("a", 4), ("b", 4), ("large", 50)] {
            _ = queue.add(message, size: size) { _ in false }
        }
        #expect(drain(&queue) == ["large", "2 lost"])
    }

    @Test("sent messages are released, even while others wait")
    func release() {
        final class Descriptor: Sendable {}
        var queue = OutboxQueue<Descriptor>(capacity: 100)
        weak var first: Descriptor?
        do {
            let descriptor = Descriptor()
            first = descriptor
            _ = queue.add(descriptor, size: 1) { _ in false }
        }
        _ = queue.add(Descriptor(), size: 1) { _ in false }
        #expect(first != nil)
        _ = queue.next()
        #expect(first == nil)
    }

    @Test("many messages go through in order")
    func order() {
        var queue = OutboxQueue<String>(capacity: 10_000)
        for number in 0..<1000 { _ = queue.add("\(number)", size: 1) { _ in false } }
        #expect(drain(&queue) == (0..<1000).map(String.init))
    }

    private func drain(_ queue: inout OutboxQueue<String>) -> [String] {
        var sent: [String] = []
        while true {
            switch queue.next() {
            case .send(let message): sent.append(message)
            case .reportLoss(let count): sent.append("\(count) lost")
            case .end: return sent
            }
        }
    }
}
