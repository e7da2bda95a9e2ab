// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel

/// What has to be done so that a new configuration takes the place of the old one.
struct ReloadPlan: Equatable {
    /// What happens to one server.
    enum Step: Equatable {
        case add
        /// Its configuration is another one; this was its source before.
        case change(from: AnySourceSettings?)
        /// Its configuration is the same, but its source has to be started again.
        case restart
        case remove
    }

    /// The steps by server; a server without one is kept as it is.
    let steps: [ServerName: Step]

    /// Compares two configurations.
    ///
    /// - Parameters:
    ///   - old: the servers as they were configured.
    ///   - guests: the servers that were added by posts.
    ///   - new: the configuration that is to hold.
    ///   - mustRestart: whether the source of a server whose configuration stays the same has to be started again.
    init(
        from old: [ServerName: ServerConfiguration], guests: Set<ServerName>, to new: Configuration,
        mustRestart: (ServerName) -> Bool = { _ in false }
    ) {
        var steps: [ServerName: Step] = [:]
        for name in old.keys where new.servers[name] == nil { steps[name] = .remove }
        if !new.acceptsAny {
            for name in guests where new.servers[name] == nil { steps[name] = .remove }
        }
        for (name, server) in new.servers {
            if let before = old[name] {
                if !before.isSame(as: server) {
                    steps[name] = .change(from: before.source)
                } else if mustRestart(name) {
                    steps[name] = .restart
                }
            } else {
                steps[name] = guests.contains(name) ? .change(from: ServerRegistry.guestSource) : .add
            }
        }
        self.steps = steps
    }

    /// The steps in the order in which they are carried out: what is removed makes room first.
    var inOrder: [(name: ServerName, step: Step)] {
        let sorted = steps.sorted { $0.key < $1.key }.map { (name: $0.key, step: $0.value) }
        return sorted.filter { $0.step == .remove } + sorted.filter { $0.step != .remove }
    }

    /// The reply that tells of it.
    var reply: ReloadReply {
        var reply = ReloadReply(added: [], changed: [], removed: [], failed: [], warnings: [])
        for (name, step) in inOrder {
            switch step {
            case .add: reply.added.append(name.rawValue)
            case .change: reply.changed.append(name.rawValue)
            case .remove: reply.removed.append(name.rawValue)
            case .restart: break
            }
        }
        return reply
    }
}

extension ServerConfiguration {
    /// Whether it says the same, wherever it says so.
    fileprivate func isSame(as other: ServerConfiguration) -> Bool {
        var moved = other
        moved.origin = origin
        return self == moved
    }
}
