// SPDX-License-Identifier: Apache-2.0

import Systemd

/// Which users make system calls on their connections cost much (``PeerCost``), and have to stay away for it.
@EventLoop
final class PeerCosts {
    /// How much a user may cost in ``period``, in nanoseconds.
    private static let limit: UInt64 = 10_000_000
    private static let period = Duration.seconds(10)
    /// How many times as long as it has cost a user must stay away.
    private static let severity = 1000

    private struct Account {
        let begin: ContinuousClock.Instant
        var cost: UInt64 = 0
    }

    private var accounts: [UInt32: Account] = [:]
    private var exclusions: [UInt32: ContinuousClock.Instant] = [:]
    /// Called when a user has to stay away.
    var onExclusion: @EventLoop (UInt32) -> Void = { _ in }

    /// Whether a user has to stay away.
    func isExcluded(_ user: UInt32) -> Bool {
        guard let end = exclusions[user] else { return false }
        if ContinuousClock.now < end { return true }
        exclusions[user] = nil
        return false
    }

    /// Notes what a call has cost because of a user's socket, in nanoseconds.
    func charge(_ cost: UInt64, to user: UInt32) {
        let now = ContinuousClock.now
        accounts = accounts.filter { now - $0.value.begin < Self.period }
        exclusions = exclusions.filter { now < $0.value }
        accounts[user, default: Account(begin: now)].cost += cost
        guard let account = accounts[user], account.cost >= Self.limit, !isExcluded(user) else { return }
        exclusions[user] = now + .nanoseconds(account.cost) * Self.severity
        EventLoop.atEndOfTurn { self.onExclusion(user) }
    }
}
