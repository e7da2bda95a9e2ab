// SPDX-License-Identifier: Apache-2.0

import HeapModule
import StatusModel

/// When to look at servers again; of each server, the earliest time counts.
struct WakeTimes: Sendable {
    private struct Wake: Comparable {
        let time: Duration
        let server: ServerName

        static func < (left: Wake, right: Wake) -> Bool { left.time < right.time }
    }

    private var times: [ServerName: Duration] = [:]
    /// One entry for each of these times, and some that count no more.
    private var heap = Heap<Wake>()

    /// The first time, or one that counts no more and is earlier.
    var first: Duration? { heap.min?.time }

    mutating func note(_ time: Duration, for server: ServerName) {
        if let earlier = times[server], earlier <= time { return }
        times[server] = time
        heap.insert(Wake(time: time, server: server))
        if heap.count > 4 * times.count { heap = Heap(times.map { Wake(time: $1, server: $0) }) }
    }

    /// Takes the servers whose time has come.
    mutating func take(upTo now: Duration) -> [ServerName] {
        var servers: [ServerName] = []
        while let wake = heap.min, wake.time <= now {
            heap.removeMin()
            guard times[wake.server] == wake.time else { continue }
            times[wake.server] = nil
            servers.append(wake.server)
        }
        return servers
    }
}
