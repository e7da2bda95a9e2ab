// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
public import Logging

/// Writes each log message to standard error as one readable line.
///
/// A message with a message id is complete in itself; others are followed by their metadata. Control and bidirectional
/// characters are escaped, so log messages cannot control a terminal.
public struct TextLogHandler: LogHandler {
    public var logLevel: Logger.Level = .info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let identifier: String

    /// Creates a handler whose lines begin with the program's name.
    public init(identifier: String) { self.identifier = identifier }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let line = line(for: event, event.merged(with: metadata, metadataProvider))
        Journal.outbox.post(Journal.Message { Self.write(line) }, size: line.utf8.count)
    }

    /// Writes a message now, however long that takes.
    func write(_ event: LogEvent, _ metadata: Logger.Metadata) { Self.write(line(for: event, metadata)) }

    private static func write(_ line: String) {
        // One call for each line, so that the lines of several writers do not mix. An error cannot be reported.
        StandardOutput.write(line, to: STDERR_FILENO)
    }

    func line(for event: LogEvent, _ metadata: Logger.Metadata) -> String {
        var line = "\(identifier): "
        if event.level >= .warning { line += "\(event.level.rawValue): " }
        line += event.message.description
        if metadata[JournalFieldNames.messageID] == nil {
            for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
        }
        return Self.visible(line) + "\n"
    }

    private static func visible(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { line, scalar in
            switch scalar.value {
            // Controls, line separators and bidirectional characters.
            case 0..<0x20, 0x7f..<0xa0, 0x061c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069:
                line += scalar.escaped(asASCII: true)
            default: line.unicodeScalars.append(scalar)
            }
        }
    }
}
