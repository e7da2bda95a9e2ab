// SPDX-License-Identifier: Apache-2.0

/// Why the daemon does not start.
struct DaemonError: Error, Sendable, CustomStringConvertible {
    enum Code: Sendable, Hashable {
        /// The configuration cannot be used; a restart fails until it is corrected.
        case configuration
        /// The system lacks something that the daemon needs.
        case system

        /// The exit status of statusd (sysexits.h: EX_CONFIG is 78).
        var exitStatus: Int32 {
            switch self {
            case .configuration: 78
            case .system: 1
            }
        }
    }

    let code: Code
    /// One sentence that says what failed and what to do.
    let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
