// SPDX-License-Identifier: Apache-2.0

/// The events that were not recorded since they were last counted, except changes of existing servers.
struct Omissions {
    var selections = 0
    var additions = 0
    var removals = 0
    /// The changes that were left out of servers whose removal was left out, too.
    var changesOfRemoved = 0

    /// The numbers of added and removed servers, in words; nil if there are none.
    var servers: String? {
        let parts = [(additions, "added"), (removals, "removed")].filter { $0.0 > 0 }
        guard !parts.isEmpty else { return nil }
        let text = parts.map { "\($0.0) \($0.0 == 1 ? "server" : "servers") \($0.1)" }.joined(separator: ", ")
        return changesOfRemoved > 0 ? "\(text), with \(changesOfRemoved) changes" : text
    }
}
