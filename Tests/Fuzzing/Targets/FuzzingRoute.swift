// SPDX-License-Identifier: Apache-2.0

import Dispatch
import EventLoopIO
import Synchronization

@testable import Varlink

/// A route for calls that nobody handles.
enum FuzzingRoute {
    /// Made on the event loop, which has a thread of its own here.
    static let route: Route = {
        let made = Mutex<Route?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
        // Unstructured, because libFuzzer calls from a thread that is not a task's.
        Task { @EventLoop in
            let route = Route(fullName: "", method: "", interface: nil)
            made.withLock { $0 = route }
            semaphore.signal()
        }
        semaphore.wait()
        guard let route = made.withLock({ $0 }) else { fatalError("no route was made") }
        return route
    }()
}
