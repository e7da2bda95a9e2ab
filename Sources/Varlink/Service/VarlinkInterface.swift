// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A service's implementation of an interface.
@EventLoop
public protocol VarlinkInterface: AnyObject {
    /// The interface's description.
    nonisolated var interfaceDescription: InterfaceDescription { get }

    /// Answers a call of a method in the description, or has it answered later.
    ///
    /// The calls of a connection come in order, each one after the one before has been answered.
    func handle(_ call: VarlinkCall)

    /// Whether a method changes nothing; for generated services, the option `reads` lists these methods.
    ///
    /// Their calls are skipped if they are oneway, or the client has left. A service may also use this for permissions
    /// (``VarlinkCall/onlyReads``).
    nonisolated func onlyReads(_ method: String) -> Bool
}

extension VarlinkInterface {
    /// Every method may change something.
    public nonisolated func onlyReads(_ method: String) -> Bool { false }
}
