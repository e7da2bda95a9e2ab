// SPDX-License-Identifier: Apache-2.0

/// Which of all servers a list or a reader wants.
public struct ServerScope: Hashable, Sendable {
    /// The host; nil for all hosts.
    ///
    /// Its servers are the one with its name, and those named …@ and its name.
    public var host: ServerName?
    /// The lowest level; nil for all servers, also those without a level.
    public var level: Level?

    public init(host: ServerName? = nil, level: Level? = nil) { (self.host, self.level) = (host, level) }

    /// Whether it wants all servers.
    public var isEmpty: Bool { host == nil && level == nil }

    public func includes(_ state: ServerState) -> Bool {
        includes(severity: state.countedLevel?.severity ?? 0) && includes(state.name)
    }

    /// Whether it wants a server with a level of this severity; 0 for none.
    public func includes(severity: Int) -> Bool { level.map { severity >= $0.severity } ?? true }

    public func includes(_ name: ServerName) -> Bool {
        guard let host = host?.rawValue.utf8 else { return true }
        let name = name.rawValue.utf8
        guard name.count > host.count else { return name.elementsEqual(host) }
        return name.dropLast(host.count).last == UInt8(ascii: "@") && name.suffix(host.count).elementsEqual(host)
    }
}
