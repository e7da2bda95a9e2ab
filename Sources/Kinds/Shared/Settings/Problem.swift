// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// A position in a file.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// The line, counted from 1; nil for the whole file.
    public var line: Int?

    public init(file: String, line: Int? = nil) {
        self.file = file
        self.line = line
    }

    public var description: String { line.map { "\(file):\($0)" } ?? file }
}

/// An error or a warning in a configuration.
public struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Severity: String, Sendable {
        /// The entry is ignored.
        case warning
        /// The server, or the whole file, is disabled.
        case error
    }

    public var severity: Severity
    public var origin: Origin
    /// The affected server; nil if the whole file is affected.
    public var server: ServerName?
    /// The reason, and what to do about it.
    public var reason: String
    /// Whether the cause is that this process may not read the file.
    public var isPermissionDenied = false

    public init(_ severity: Severity, at origin: Origin, server: ServerName? = nil, reason: String) {
        self.severity = severity
        self.origin = origin
        self.server = server
        self.reason = reason
    }

    public var description: String { "\(origin): \(server.map { "server \($0): " } ?? "")\(reason)" }
}
