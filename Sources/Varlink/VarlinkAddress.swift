// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// The address of a Varlink service: a Unix socket, an internet socket, or a program to start.
///
/// It has the forms of varlink.org and varlinkctl(1): `unix:/path`, `unix:@abstract`, `tcp:host:port`,
/// `tcp:[::1]:port` and `exec:/path/to/program argument…`. In addition, `bridge:/path/to/program argument…` does what
/// the option `--bridge` of varlink(1) does.
public enum VarlinkAddress: Sendable, Hashable, CustomStringConvertible {
    /// A Unix socket.
    ///
    /// For a service, the mode says who may connect, as file permissions; nil means only this process's user. Clients
    /// ignore it.
    case unix(UnixAddress, mode: UInt32? = nil)
    /// A host, which is a name or a numeric address, and a port.
    ///
    /// Nothing is encrypted. A service does not know its clients: all of them count as the user 4,294,967,295
    /// (`UInt32.max`) and share that user's limits.
    case tcp(host: String, port: UInt16)
    /// A program to start, which gets the connection as descriptor 3.
    case exec(path: String, arguments: [String] = [])
    /// A program to start, such as ssh(1), whose standard input and output are the connection.
    ///
    /// It stays in this process's group, so that it can ask the user for a password.
    case bridge(path: String, arguments: [String] = [])

    /// Parses an address.
    ///
    /// A service's socket has the permissions of `;mode=0666` after `unix:/path`. The arguments of a program are
    /// separated by spaces and cannot contain any.
    ///
    /// - Throws: `IOError.Code.invalidAddress`, `IOError.Code.pathTooLong`.
    public init(parsing text: String) throws(IOError) {
        let scheme = text.prefix { $0 != ":" }
        let rest = text.dropFirst(scheme.count + 1)
        switch scheme {
        case _ where text.utf8.contains(0): throw Self.invalid(text, "must not contain a NUL byte")
        case "unix": self = try Self.unix(rest, in: text)
        case "tcp": self = try Self.tcp(rest, in: text)
        case "exec", "bridge":
            let (path, arguments) = try Self.program(rest, in: text)
            self =
                scheme == "exec" ? .exec(path: path, arguments: arguments) : .bridge(path: path, arguments: arguments)
        default: throw Self.invalid(text, "must start with unix:, tcp:, exec: or bridge:")
        }
    }

    public var description: String {
        switch self {
        case .unix(let address, nil): "\(address)"
        case .unix(let address, let mode?): "\(address);mode=0\(String(mode, radix: 8))"
        case .tcp(let host, let port): host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
        case .exec(let path, let arguments): (["exec:\(path)"] + arguments).joined(separator: " ")
        case .bridge(let path, let arguments): (["bridge:\(path)"] + arguments).joined(separator: " ")
        }
    }

    private static func invalid(_ text: String, _ reason: String) -> IOError {
        IOError(.invalidAddress, "invalid address “\(text)”: \(reason)")
    }

    private static func unix(_ rest: Substring, in text: String) throws(IOError) -> VarlinkAddress {
        let parts = rest.split(separator: ";", omittingEmptySubsequences: false)
        let location = parts[0]
        guard location.hasPrefix("/") || location.hasPrefix("@") && location.count > 1 else {
            throw invalid(text, "must be unix:/path or unix:@name")
        }
        let address = try UnixAddress(parsing: "unix:\(location)")
        guard let parameter = parts.dropFirst().first else { return .unix(address) }
        guard parts.count == 2, parameter.hasPrefix("mode=") else {
            throw invalid(text, "must have no parameter except mode, as in unix:/path;mode=0660")
        }
        guard case .path = address else {
            throw invalid(text, "must have no mode, because everyone can connect to an abstract socket")
        }
        let digits = parameter.dropFirst(5)
        guard digits.utf8.allSatisfy({ (0x30...0x37).contains($0) }), let mode = UInt32(digits, radix: 8), mode <= 0o777
        else { throw invalid(text, "must have an octal mode up to 0777") }
        return .unix(address, mode: mode)
    }

    private static func tcp(_ rest: Substring, in text: String) throws(IOError) -> VarlinkAddress {
        guard let colon = rest.lastIndex(of: ":") else { throw invalid(text, "must be tcp:host:port") }
        let digits = rest[rest.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
            throw invalid(text, "must have a port from 0 to 65535")
        }
        let name = rest[..<colon]
        if name.hasPrefix("["), name.hasSuffix("]"), name.contains(":") {
            return .tcp(host: String(name.dropFirst().dropLast()), port: port)
        }
        if name.contains(":") { throw invalid(text, "must have the IPv6 address in brackets, as in tcp:[::1]:1234") }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"[]/@;".utf8.contains($0) }) else {
            throw invalid(text, "must have a host name or a numeric address")
        }
        return .tcp(host: String(name), port: port)
    }

    private static func program(
        _ rest: Substring, in text: String
    ) throws(IOError) -> (path: String, arguments: [String]) {
        let words = rest.split(separator: " ").map(String.init)
        guard rest.hasPrefix("/"), let path = words.first else {
            let scheme = text.prefix { $0 != ":" }
            throw invalid(text, "must have an absolute path, as in \(scheme):/usr/bin/program")
        }
        return (path, Array(words.dropFirst()))
    }
}

extension VarlinkAddress {
    /// Listens at the address, for a service.
    ///
    /// - Parameter backlog: how many connections may wait to be accepted.
    /// - Throws: the errors of `UnixSocket.listen(at:mode:backlog:)`; `IOError.Code.notFound` for an unknown host;
    ///   `IOError.Code.invalidAddress` for a program.
    public func listen(backlog: Int32 = 128) async throws(IOError) -> OwnedDescriptor {
        switch self {
        case .unix(.path(let path), let mode): try UnixSocket.listen(at: path, mode: mode ?? 0o600, backlog: backlog)
        case .unix(.abstract(let name), _): try UnixSocket.listen(atAbstract: name, backlog: backlog)
        case .tcp(let host, let port): try await TCPSocket.listen(at: host, port: port, backlog: backlog)
        case .exec, .bridge:
            throw Self.invalid("\(self)", "must be a socket, because a service cannot listen at a program")
        }
    }
}
