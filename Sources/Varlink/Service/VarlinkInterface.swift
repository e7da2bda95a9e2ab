// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A service's implementation of an interface.
@EventLoop
public protocol VarlinkInterface: AnyObject {
    /// The interface's description.
    nonisolated var interfaceDescription: InterfaceDescription { get }

    /// Answers a call of a described method, at once or later.
    ///
    /// A connection's calls come in order, each after the previous one has been answered.
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

/// A method of a service, and the interface that implements it.
@EventLoop
final class Route {
    /// `interface.Method`.
    let fullName: String
    /// The name without its interface.
    let method: String
    /// The interface; nil for an unknown method.
    let interface: (any VarlinkInterface)?
    /// The method's position in the interface's description.
    let index: Int
    /// Whether it changes nothing.
    let onlyReads: Bool

    private init(_ fullName: String, method: String, index: Int, interface: any VarlinkInterface) {
        self.fullName = fullName
        self.method = method
        self.index = index
        self.interface = interface
        onlyReads = interface.onlyReads(method)
    }

    /// The route of a method that no interface has.
    init(unknown name: String) {
        fullName = name
        method = name
        index = -1
        interface = nil
        onlyReads = true
    }

    /// The routes of all methods of an interface.
    static func all(of interface: any VarlinkInterface) -> [Route] {
        let description = interface.interfaceDescription
        return description.methods.enumerated().map { index, method in
            Route("\(description.name).\(method.name)", method: method.name, index: index, interface: interface)
        }
    }
}
