// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Synchronization

/// What this process logs, on its way to the journal or to standard error: each may keep a writer waiting for ever.
enum LogOutbox {
    /// In bytes: a thousand messages, or more.
    private static let capacity = 1024 * 1024
    private static let onLoss = Mutex<@Sendable (Int) -> Void>({ _ in })

    static let shared = Outbox<@Sendable () -> Void>(capacity: capacity) { write in
        write()
    } reportLoss: { count in
        onLoss.withLock { $0 }(count)
    }

    /// Sets what is called once the receiver reads again, with the number of messages that were dropped meanwhile.
    static func reportLosses(to handler: @escaping @Sendable (Int) -> Void) { onLoss.withLock { $0 = handler } }
}
