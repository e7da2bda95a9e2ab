// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSources

@Suite("Checks that wait for a slot") struct CheckQueueTests {
    private var queue = CheckQueue<String>()

    private mutating func popAll() -> [String] {
        var popped: [String] = []
        while let next = queue.popOrdinary(where: { _ in true }) { popped.append(next.waiter) }
        return popped
    }

    @Test("get it in order of arrival, for all kinds")
    mutating func order() {
        _ = queue.append("process 1", for: .process)
        _ = queue.append("connection 2", for: .connection)
        let left = queue.append("connection 3", for: .connection)
        _ = queue.append("process 4", for: .process)
        #expect(queue.remove(left) == "connection 3")
        #expect(popAll() == ["process 1", "connection 2", "process 4"])
        #expect(queue.count == 0)
    }

    @Test("get it in the order in which they became urgent, for all kinds")
    mutating func urgentOrder() {
        let connection = queue.append("connection", for: .connection)
        let process = queue.append("process", for: .process)
        let request = queue.append("request", for: .request)
        for number in [request, connection, process] { queue.expedite(number) }
        var popped: [String] = []
        while let next = queue.popUrgent(where: { _ in true }, isUrgent: { _ in true }) { popped.append(next.waiter) }
        #expect(popped == ["request", "connection", "process"])
    }

    @Test("keep their position when their caller leaves, and become urgent again with a new caller")
    mutating func urgency() {
        _ = queue.append("first", for: .process)
        let second = queue.append("second", for: .process)
        queue.expedite(second)
        #expect(queue.popUrgent(where: { _ in true }, isUrgent: { _ in false }) == nil)
        queue.expedite(second)
        #expect(queue.popUrgent(where: { _ in true }, isUrgent: { _ in true })?.waiter == "second")
        #expect(queue.popUrgent(where: { _ in true }, isUrgent: { _ in true }) == nil)
        #expect(popAll() == ["first"])
    }
}
