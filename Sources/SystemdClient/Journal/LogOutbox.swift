// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Synchronization

/// The log messages on their way to the journal or to standard error, which may block a writer indefinitely.
enum LogOutbox {
    /// The limit in bytes: room for hundreds of the longest messages.
    private static let capacity = 1024 * 1024
    private static let onLoss = Mutex<@Sendable (Int) -> Void>({ _ in })

    static let shared = Outbox<@Sendable () -> Void>(capacity: capacity) { write in
        write()
    } reportLoss: { count in
        onLoss.withLock { $0 }(count)
    }

    /// Sets the function to call with the number of dropped messages, when the receiver reads again.
    static func reportLosses(to handler: @escaping @Sendable (Int) -> Void) { onLoss.withLock { $0 = handler } }
}
