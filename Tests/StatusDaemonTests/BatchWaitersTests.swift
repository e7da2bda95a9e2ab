// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@testable import StatusDaemon

@Suite("Callers that wait for a batch to be saved", .timeLimit(.minutes(5)))
@EventLoop
struct BatchWaitersTests {
    // The tasks are unstructured: each test cancels or awaits its own tasks.

    private let waiters = BatchWaiters()

    @Test("a cancelled caller stops waiting and leaves nothing behind")
    func cancelled() async {
        for _ in 0..<100 {
            let caller = Task { await waiters.wait(forNext: true) }
            caller.cancel()
            await caller.value
        }
        #expect(waiters.next.isEmpty)
    }

    @Test("a caller waits for the next batch, or for the batch that is being saved")
    func ends() async {
        let order = Order()
        let first = Task { await wait(forNext: true, "first", order) }
        // Tasks on the loop begin in order.
        await Task { waiters.savingBegan() }.value
        let second = Task { await wait(forNext: false, "second", order) }
        let third = Task { await wait(forNext: true, "third", order) }
        await Task { waiters.savingEnded() }.value
        await first.value
        await second.value
        order.names.append("saved")
        await Task {
            waiters.savingBegan()
            waiters.savingEnded()
        }.value
        await third.value
        #expect(Set(order.names.prefix(2)) == ["first", "second"])
        #expect(order.names.suffix(2) == ["saved", "third"])
    }

    private func wait(forNext isNext: Bool, _ name: String, _ order: Order) async {
        await waiters.wait(forNext: isNext)
        order.names.append(name)
    }

    @EventLoop private final class Order { var names: [String] = [] }
}
