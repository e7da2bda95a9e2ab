// SPDX-License-Identifier: Apache-2.0

import NotificationStreamsTestSupport
import Testing

@testable import NotificationStreams

@Suite("A ring buffer")
struct RingBufferTests {
    @Test("Elements come out in the order they went in, while the buffer wraps and grows")
    func order() {
        var buffer = RingBuffer<Int>()
        var (next, expected) = (0, 0)
        // More go in than come out in each round, so that it grows with its head anywhere.
        for round in 1...50 {
            for _ in 0..<round {
                buffer.append(next)
                next += 1
            }
            for _ in 0..<(round - 1) {
                #expect(buffer.popFirst() == expected)
                expected += 1
            }
            #expect(buffer.count == next - expected)
        }
        while let element = buffer.popFirst() {
            #expect(element == expected)
            expected += 1
        }
        #expect(expected == next)
        #expect(buffer.popFirst() == nil)
    }

    @Test("An element that was taken is not held")
    func holdsNothingTaken() {
        final class Object {}
        var buffer = RingBuffer<Object>()
        buffer.append(Object())
        weak let object = buffer.popFirst()
        #expect(object == nil)
    }
}
