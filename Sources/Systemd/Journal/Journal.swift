// SPDX-License-Identifier: Apache-2.0

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
