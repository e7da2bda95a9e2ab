// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A connection that speaks another protocol after a call with `upgrade`.
///
/// If a service was started for the connection, it ends when this object is released.
public final class UpgradedConnection: Sendable {
    /// The socket, which is non-blocking.
    ///
    /// Unlike before the upgrade, the caller makes the system calls itself: on the event loop, a peer of another user
    /// can make them slow.
    public let descriptor: OwnedDescriptor
    /// The bytes of the other protocol that were read already.
    public let bytes: [UInt8]
    private let process: ServiceProcess?

    init(_ descriptor: OwnedDescriptor, bytes: [UInt8], process: ServiceProcess?) {
        self.descriptor = descriptor
        self.bytes = bytes
        self.process = process
    }

    deinit {
        if let process { EventLoop.perform { process.end() } }
    }
}
