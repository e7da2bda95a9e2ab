// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@Suite("Holding up incoming data", .timeLimit(.minutes(1)))
@EventLoop struct FlowControlTests {
    @Test("held work continues in order when it is released, and at once if nothing is held")
    func release() {
        FlowControl.release()
        var order: [Int] = []
        FlowControl.whenReleased { order.append(0) }
        FlowControl.hold()
        for number in 1...3 { FlowControl.whenReleased { order.append(number) } }
        #expect(order == [0])
        FlowControl.release()
        #expect(order == [0, 1, 2, 3])
        #expect(!FlowControl.isHeld)
    }

    @Test("nobody waits for long if no release comes")
    func end() async {
        FlowControl.hold()
        await withCheckedContinuation { continuation in FlowControl.whenReleased { continuation.resume() } }
    }
}
