// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// Why the monitor refused a call.
public enum LedgerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server does not exist.
    case noSuchServer(ServerName)
    /// The status of this server does not come from clients.
    case takesNoPosts(ServerName)
    /// No server is selected.
    case nothingSelected

    public var description: String {
        switch self {
        case .noSuchServer(let name): "no server named “\(name)”"
        case .takesNoPosts(let name): "clients cannot post the status of \(name)"
        case .nothingSelected: "no server is selected"
        }
    }
}
