// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel

/// The steps from one configuration to another.
struct ReloadPlan: Equatable {
    /// The step for one server.
    enum Step: Equatable {
        case add
        /// Its configuration changed; this was its source before.
        case change(from: AnySourceSettings?)
        /// Its configuration is the same, but its source must be started again.
        case restart
        case remove
    }

    /// The steps by server; a server without a step stays as it is.
    let steps: [ServerName: Step]

    /// Compares two configurations.
    ///
    /// - Parameters:
    ///   - old: the servers of the old configuration.
    ///   - guests: the servers that were added by posts.
    ///   - new: the new configuration.
    ///   - mustRestart: whether a source must be started again although its server's configuration stays the same.
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

    /// The steps in order: removals make room first.
    var inOrder: [(name: ServerName, step: Step)] {
        let sorted = steps.sorted { $0.key < $1.key }.map { (name: $0.key, step: $0.value) }
        return sorted.filter { $0.step == .remove } + sorted.filter { $0.step != .remove }
    }

    /// The reply that reports the steps.
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
    /// Whether the configurations are equal, apart from file and line.
    fileprivate func isSame(as other: ServerConfiguration) -> Bool {
        var moved = other
        moved.origin = origin
        return self == moved
    }
}
