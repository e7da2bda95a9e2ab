// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// An interface as a service implements it.
@EventLoop
public protocol VarlinkInterface: AnyObject {
    /// What the interface has, in Varlink's interface definition language.
    nonisolated var interfaceDescription: InterfaceDescription { get }

    /// Answers a call of a method that the description has, or sees to it that it is answered later.
    ///
    /// Calls of one connection come in their order, the next one only when this one has been answered.
    func handle(_ call: VarlinkCall)

    /// Whether a method changes nothing; a generated service has this from the option `reads`.
    ///
    /// Its calls are skipped if the client has left. A service may also let everyone call it (``VarlinkCall/onlyReads``).
    nonisolated func onlyReads(_ method: String) -> Bool

    /// Whether a method upgrades the connection of a call that wants it (``VarlinkCall/upgrade(_:then:)``).
    ///
    /// For other methods, such a call is not handled: its client would take any reply for an upgrade.
    nonisolated func upgrades(_ method: String) -> Bool
}

extension VarlinkInterface {
    /// Every method may change something.
    public nonisolated func onlyReads(_ method: String) -> Bool { false }

    /// No method upgrades a connection.
    public nonisolated func upgrades(_ method: String) -> Bool { false }
}
