// SPDX-License-Identifier: Apache-2.0

/// Why the daemon does not start.
public struct DaemonError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Sendable, Hashable {
        /// The configuration cannot be used: it has to be mended before a restart helps.
        case configuration
        /// The system does not give what is needed.
        case system

        /// The exit status of statusd (sysexits.h: EX_CONFIG is 78).
        public var exitStatus: Int32 {
            switch self {
            case .configuration: 78
            case .system: 1
            }
        }
    }

    /// What kind of failure it is.
    public let code: Code
    /// One sentence that says what failed and what to do.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
