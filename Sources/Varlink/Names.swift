// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

// The names of EventLoopIO that clients and services need. The others include some of SwiftNIO's.
@_exported public import class EventLoopIO.OwnedDescriptor
@_exported public import struct EventLoopIO.PeerCredentials
@_exported public import enum EventLoopIO.UnixAddress

/// The global actor of connections, services and their interfaces.
///
/// Its executor is one thread, which waits for all descriptors of the process. Code on it must not block, because that
/// would delay all connections. `Task.sleep` and tasks of other actors do not block it.
public typealias VarlinkActor = EventLoop

extension VarlinkAddress {
    /// The error of an address that is invalid, or at which a service cannot listen.
    public typealias Failure = IOError
}
