// SPDX-License-Identifier: Apache-2.0

package import Logging
import Synchronization

/// Records log messages for a test.
package final class LogRecorder: Sendable {
    /// One message with its metadata.
    package struct Entry: Sendable {
        /// The log level.
        package let level: Logger.Level
        /// The message.
        package let message: String
        /// Its metadata, as text.
        package let metadata: [String: String]
    }

    private let kept = Mutex<[Entry]>([])

    /// Creates a recorder without entries.
    package init() {}

    /// The messages, in order.
    package var entries: [Entry] { kept.withLock { $0 } }

    /// A logger that logs to this recorder.
    package var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var logLevel = Logger.Level.trace
        var metadata = Logger.Metadata()

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues(\.description)
            let entry = Entry(level: event.level, message: event.message.description, metadata: metadata)
            recorder.kept.withLock { $0.append(entry) }
        }
    }
}
