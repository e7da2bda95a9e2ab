// SPDX-License-Identifier: Apache-2.0

import Foundation
import NotificationStreams
import NotificationStreamsFoundation
import Synchronization
import TestSupport
import Testing

/// The view around the example in the documentation of SwiftUI's `task(id:)`, which shows the selected server's status.
private final class ServerView: Sendable {
    private let shown = Mutex<String?>(nil)

    private var status: String? {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }

    var text: String {
        status ?? "Signed Out"
    }

    func run(selections: AsyncStream<Server>, on executor: StepExecutor) async {
        await forLatest(of: selections, executorPreference: executor) { server in
            await self.task(server)
        }
    }

    private func task(_ server: Server) async {
        let sequence = NotificationCenter.default.notifications(
            named: .didUpdateStatus,
            object: server
        ).compactMap {
            $0.userInfo?["status"] as? String
        }
        for await value in sequence {
            status = value
        }
    }
}

@Suite("The example of task(id:)")
struct SelectedServerTests {
    @Test("the text shows the status of the selected server only", .timeLimit(.minutes(5)))
    func followsSelection() async {
        let executor = StepExecutor()
        let (selections, selection) = AsyncStream.makeStream(of: Server.self)
        let view = ServerView()
        let (first, second) = (Server(), Server())
        let task = Task(executorPreference: executor) { await view.run(selections: selections, on: executor) }

        selection.yield(first)
        executor.run()
        #expect(view.text == "Signed Out")
        first.signIn()
        executor.run()
        #expect(view.text == "Signed In")
        second.signOut()
        executor.run()
        #expect(view.text == "Signed In")

        selection.yield(second)
        executor.run()
        second.signOut()
        executor.run()
        #expect(view.text == "Signed Out")
        first.signIn()
        executor.run()
        #expect(view.text == "Signed Out")
        second.signIn()
        executor.run()
        #expect(view.text == "Signed In")

        task.cancel()
        executor.run()
        await task.value
        second.signOut()
        #expect(view.text == "Signed In")
    }
}
