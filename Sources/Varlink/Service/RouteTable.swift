// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// A method of a service: its names, and who implements it.
@EventLoop
final class Route {
    /// `interface.Method`.
    let fullName: String
    /// The name without its interface.
    let method: String
    /// Who implements it; nil for a method that nobody described.
    let interface: (any VarlinkInterface)?
    /// Its place among the methods of its interface's description.
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

/// The methods of a service, found by the bytes of their names as they stand in a message, without making a string of them.
@EventLoop
struct RouteTable {
    private struct Entry {
        var hash: UInt64
        var name: [UInt8]
        var route: Route
    }

    /// The entries by open addressing, never more than half full.
    ///
    /// An entry stands at its hash's place, or behind it with no gap between.
    private var slots: [Entry?]

    /// A table of these methods; of two with the same name the first is meant.
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
        // The hashes are compared first, so that an entry is copied, with its references, only if it is the one.
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
