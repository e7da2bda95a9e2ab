// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// A place in a file.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The file's path.
    public var file: String
    /// The line, counted from 1; nil where it is about the whole file.
    public var line: Int?

    /// A place in a file.
    public init(file: String, line: Int? = nil) {
        self.file = file
        self.line = line
    }

    public var description: String { line.map { "\(file):\($0)" } ?? file }
}

/// Something in a configuration that is not as it should be.
public struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// How bad it is.
    public enum Severity: String, Sendable {
        /// What is said there is ignored.
        case warning
        /// The server, or the whole file, is disabled by it.
        case error
    }

    /// How bad it is.
    public var severity: Severity
    /// Where it is.
    public var origin: Origin
    /// The server it is about; nil where it is about the file.
    public var server: ServerName?
    /// What is wrong and what to do about it.
    public var reason: String
    /// Whether the caller may not read what it is about.
    public var isPermissionDenied = false

    /// A problem with what belongs to it.
    public init(_ severity: Severity, at origin: Origin, server: ServerName? = nil, reason: String) {
        self.severity = severity
        self.origin = origin
        self.server = server
        self.reason = reason
    }

    public var description: String { "\(origin): \(server.map { "server \($0): " } ?? "")\(reason)" }
}
