// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// What statusd is to follow, and how: all files together.
public struct Configuration: Equatable, Sendable {
    /// The first selection; later the last one is kept.
    public var select: ServerName?
    /// Where that is said.
    public var selectOrigin: Origin?
    /// Whether servers that nobody configured may post.
    public var acceptsAny = false
    /// The servers, by name.
    public var servers: [ServerName: ServerConfiguration] = [:]
    /// The bounds of what clients and checks may use.
    public var limits = LimitsConfiguration()

    /// A configuration without servers, in which only configured ones may post.
    public init() {}

    /// What holds where there is no configuration at all: whoever posts is accepted.
    public static var embedded: Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = true
        return configuration
    }
}

/// The bounds of what clients and checks may use.
public struct LimitsConfiguration: Equatable, Sendable {
    /// The longest message of a client, in bytes.
    public var message = 64 * 1024
    /// How many bytes of replies may wait for one client.
    public var unsent = 64 * 1024
    /// How many connections one user may have.
    public var connections = 128
    /// How many servers there may be that nobody configured.
    public var servers = 4096
    /// How many checks may run side by side.
    public var checks = 128
    /// How many of these may be plugins.
    public var processes = 16
    /// How many of these may be HTTP requests, each a process, too.
    public var requests = 64

    /// The limits that hold where no file says otherwise.
    public init() {}
}

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
