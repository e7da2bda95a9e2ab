// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Holds tasks until it is opened, even if they are cancelled.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            return state.waiting
        }
        for task in waiting {
            task.resume()
        }
    }

    package func pass() async {
        await withCheckedContinuation { task in
            let isOpen = state.withLock { state in
                if !state.isOpen {
                    state.waiting.append(task)
                }
                return state.isOpen
            }
            if isOpen {
                task.resume()
            }
        }
    }

    /// Waits until the task is cancelled.
    package static func untilCancelled() async {
        let gate = Gate()
        await withTaskCancellationHandler {
            await gate.pass()
        } onCancel: {
            gate.open()
        }
    }
}

/// Entries in the order in which they were appended.
package final class Log<Entry: Sendable>: Sendable {
    private let kept = Mutex<[Entry]>([])

    package init() {}

    package var entries: [Entry] {
        kept.withLock { $0 }
    }

    package func append(_ entry: Entry) {
        kept.withLock { $0.append(entry) }
    }
}
