// SPDX-License-Identifier: Apache-2.0

// Stands for swift-nio, so that the examples show that the libraries' names are not ambiguous next to its names.

public protocol EventLoop: AnyObject {
    var name: String { get }
}

public struct IOError: Error {
    public let errnoCode: Int32

    public init(errnoCode: Int32) { self.errnoCode = errnoCode }
}
