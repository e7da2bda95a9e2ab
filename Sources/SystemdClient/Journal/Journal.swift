// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
public import Logging
import Synchronization

/// The destination of this process's log messages.
public enum Journal {
    /// Whether standard error is connected to the journal: `JOURNAL_STREAM` names its device and inode
    /// (systemd.exec(5)).
    public static var isStandardError: Bool {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        return fstat(STDERR_FILENO, &status) == 0
            && String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sets the function to call with the number of dropped messages, when the receiver reads again.
    ///
    /// While the journal, or the reader of standard error, does not read, at most 1 MiB waits and the oldest messages
    /// are dropped. The function is called on the thread that writes them.
    public static func reportLosses(to handler: @escaping @Sendable (Int) -> Void) { onLoss.withLock { $0 = handler } }

    private static let onLoss = Mutex<@Sendable (Int) -> Void>({ _ in })

    /// The messages on their way to the journal or to standard error, which may block a writer indefinitely.
    ///
    /// Its limit of 1 MiB is room for hundreds of the longest messages.
    static let outbox = Outbox<@Sendable () -> Void>(capacity: 1 << 20) { write in
        write()
    } reportLoss: { count in
        onLoss.withLock { $0 }(count)
    }

    /// Waits until all messages have been written, up to `limit`.
    @EventLoop
    public static func drain(within limit: Duration) async { await outbox.drain(within: limit) }

    /// Creates a handler for the journal if standard error is connected to it, else for lines of text on standard
    /// error.
    public static func makeLogHandler(
        label: String, identifier: String, names: JournalFieldNames, level: Logger.Level = .info
    ) -> any LogHandler {
        var handler: any LogHandler =
            isStandardError
            ? JournalLogHandler(label: label, identifier: identifier, names: names)
            : TextLogHandler(identifier: identifier)
        handler.logLevel = level
        return handler
    }
}
