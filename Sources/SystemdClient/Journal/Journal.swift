// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
public import Logging

/// Where this process's messages go.
public enum Journal {
    /// Whether standard error is connected to the journal: `JOURNAL_STREAM` names its device and inode (systemd.exec(5)).
    public static var isStandardError: Bool {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        return fstat(STDERR_FILENO, &status) == 0
            && String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sets what is called when the journal, or whoever reads standard error, reads again after it did not: with the number of messages that were
    /// dropped meanwhile, the oldest first.
    public static func reportLosses(to handler: @escaping @Sendable (Int) -> Void) {
        LogOutbox.reportLosses(to: handler)
    }

    /// Waits until all that was logged has been written, at most for `limit`.
    @EventLoop
    public static func drain(within limit: Duration) async { await LogOutbox.shared.drain(within: limit) }

    /// A handler for the journal where standard error is connected to it, else for readable lines on standard error.
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
