// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A connection that speaks another protocol, after a call with `upgrade`.
///
/// A service that was started for the connection ends when this object goes.
public final class UpgradedConnection: Sendable {
    /// The socket, which is non-blocking.
    public let descriptor: OwnedDescriptor
    /// What the service sent after its reply, as far as it was read already.
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
