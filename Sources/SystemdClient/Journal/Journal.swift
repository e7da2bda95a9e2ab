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
    /// are dropped. The function is called on the thread that writes the waiting messages.
    public static func reportLosses(to handler: @escaping @Sendable (Int) -> Void) { onLoss.withLock { $0 = handler } }

    private static let onLoss = Mutex<@Sendable (Int) -> Void>({ _ in })

    /// A message on its way.
    struct Message: Sendable {
        /// Writes it without waiting; returns false if it must wait.
        var writeNow: @Sendable () -> Bool = { false }
        /// Writes it, however long that takes.
        let write: @Sendable () -> Void
    }

    /// The messages on their way to the journal or to standard error, which may block a writer indefinitely.
    ///
    /// Its limit of 1 MiB is room for hundreds of the longest messages. The end of the process waits for it.
    static let outbox: Outbox<Message> = {
        atexit { Journal.outbox.flush() }
        return Outbox(capacity: 1 << 20) { message in
            message.writeNow()
        } send: { message in
            message.write()
        } reportLoss: { count in
            onLoss.withLock { $0 }(count)
        }
    }()

    /// Creates a handler for the journal if standard error is connected to it, else for lines of text on standard
    /// error.
    ///
    /// Logging never waits. An entry is in the journal's socket when the call returns, unless that is full. What waits
    /// is written by another thread, and by exit(3), which `main` calls when it returns; that takes at most 500 ms if
    /// nothing is read. Text always waits, so a program that crashes may lose its last lines.
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
