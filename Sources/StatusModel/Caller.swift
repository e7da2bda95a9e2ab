// SPDX-License-Identifier: Apache-2.0

/// The process that made a change through the control interface, as the kernel knows it.
public struct Caller: Hashable, Sendable {
    /// The number of its user.
    public var user: UInt32
    /// The number of the process, which may have ended since.
    public var process: Int32

    public init(user: UInt32, process: Int32) {
        self.user = user
        self.process = process
    }
}
