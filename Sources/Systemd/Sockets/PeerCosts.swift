// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Which users make system calls on their connections take much processor time (``ForeignSocket``), and have to stay away for it.
package final class PeerCosts: Sendable {
    /// How much a user may cost in ``period``, in nanoseconds.
    ///
    /// More than what the host of a virtual machine takes while a call is made, which counts as its processor time.
    private static let limit: UInt64 = 100_000_000
    /// How much makes a user suspect, in nanoseconds.
    private static let suspicion: UInt64 = 20_000_000
    private static let period = Duration.seconds(10)
    /// How many times as long as it has cost a user must stay away.
    private static let severity = 500

    private struct Account {
        let begin: ContinuousClock.Instant
        var cost: UInt64 = 0
    }

    private struct State {
        var accounts: [UInt32: Account] = [:]
        var exclusions: [UInt32: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())
    private let onExclusion: @EventLoop @Sendable (UInt32) -> Void

    /// - Parameter onExclusion: called when a user has to stay away.
    package init(onExclusion: @escaping @EventLoop @Sendable (UInt32) -> Void) { self.onExclusion = onExclusion }

    /// Whether a user has to stay away.
    package func isExcluded(_ user: UInt32) -> Bool {
        state.withLock { state in
            guard !state.exclusions.isEmpty, let end = state.exclusions[user] else { return false }
            if ContinuousClock.now < end { return true }
            state.exclusions[user] = nil
            return false
        }
    }

    /// Whether a user has cost more than a little lately.
    package func isSuspect(_ user: UInt32) -> Bool {
        state.withLock { state in
            guard !state.accounts.isEmpty, let account = state.accounts[user] else { return false }
            return account.cost >= Self.suspicion && ContinuousClock.now - account.begin < Self.period
        }
    }

    /// Notes what a call has cost because of a user's socket, in nanoseconds.
    package func charge(_ cost: UInt64, to user: UInt32) {
        let now = ContinuousClock.now
        let isNew = state.withLock { state in
            state.accounts = state.accounts.filter { now - $0.value.begin < Self.period }
            state.exclusions = state.exclusions.filter { now < $0.value }
            state.accounts[user, default: Account(begin: now)].cost += cost
            guard let account = state.accounts[user], account.cost >= Self.limit, state.exclusions[user] == nil else {
                return false
            }
            state.exclusions[user] = now + .nanoseconds(account.cost) * Self.severity
            return true
        }
        if isNew { EventLoop.perform { self.onExclusion(user) } }
    }
}
