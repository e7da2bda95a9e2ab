// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO

@Suite("A process that runs on the loop", .timeLimit(.minutes(5))) struct ProcessTests {
    @Test("runs what awaits the main actor on its one thread, too")
    func mainActor() async {
        await #expect(processExitsWith: .exitCode(7)) {
            EventLoop.runProcess {
                let isOnLoop = await MainActor.run {
                    MainActor.assertIsolated()
                    return isEventLoopThread
                }
                return isOnLoop ? 7 : 1
            }
        }
    }
}
