// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// A method of a service, and the interface that implements it.
@EventLoop
final class Route {
    /// `interface.Method`.
    let fullName: String
    /// The name without its interface.
    let method: String
    /// The interface; nil for an unknown method.
    let interface: (any VarlinkInterface)?
    /// Its position in its interface's description.
    let index: Int
    /// Whether it changes nothing.
    let onlyReads: Bool
    /// Whether it upgrades the connection of a call that wants it.
    let upgrades: Bool

    init(fullName: String, method: String, index: Int = -1, interface: (any VarlinkInterface)?) {
        self.fullName = fullName
        self.method = method
        self.index = index
        self.interface = interface
        onlyReads = interface?.onlyReads(method) ?? true
        upgrades = interface?.upgrades(method) ?? false
    }
}

/// The methods of a service, found by the bytes of their names.
///
/// So no string is made of the name in a message.
@EventLoop
struct RouteTable {
    private struct Entry {
        var hash: UInt64
        var name: [UInt8]
        var route: Route
    }

    /// The entries, with open addressing; at most half of the slots are used.
    ///
    /// An entry is at the slot of its hash, or after it without a gap.
    private var slots: [Entry?]

    /// Creates a table; of two methods with the same name, the first counts.
    init(_ routes: [Route]) {
        var capacity = 16
        while capacity < 2 * routes.count { capacity *= 2 }
        slots = Array(repeating: nil, count: capacity)
        for route in routes { insert(route) }
    }

    private mutating func insert(_ route: Route) {
        let name = Array(route.fullName.utf8)
        let hash = name.withUnsafeBufferPointer { NameHash.hash($0) }
        var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while let entry = slots[place] {
            if entry.name == name { return }
            place = (place + 1) & (slots.count - 1)
        }
        slots[place] = Entry(hash: hash, name: name, route: route)
    }

    /// The method of this name.
    subscript(name: UnsafeBufferPointer<UInt8>) -> Route? {
        let hash = NameHash.hash(name)
        var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        // Hashes are compared first, so that only the right entry is copied and retained.
        while let other = slots[place]?.hash {
            if other == hash, let entry = slots[place], Self.isEqual(entry.name, name) { return entry.route }
            place = (place + 1) & (slots.count - 1)
        }
        return nil
    }

    private static func isEqual(_ left: [UInt8], _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count, let start = right.baseAddress else { return left.count == right.count }
        return memcmp(left, start, left.count) == 0
    }
}
