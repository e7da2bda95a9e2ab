// SPDX-License-Identifier: Apache-2.0

import Systemd

/// Which users make system calls on their connections cost much (``PeerCost``), and have to stay away for it.
@EventLoop
final class PeerCosts {
    /// How much time the calls of a user may take too long in ``period`` before it is suspect, in nanoseconds.
    private static let suspicion: UInt64 = 5_000_000
    /// How much processor time they may then take, in nanoseconds.
    private static let limit: UInt64 = 10_000_000
    private static let period = Duration.seconds(10)
    /// How many times as long as it has cost a user must stay away.
    private static let severity = 1000

    private struct Account {
        let begin: ContinuousClock.Instant
        /// What its calls have taken by the clock.
        var wall: UInt64 = 0
        /// What they have taken in processor time, as long as the user was suspect.
        var processor: UInt64 = 0
    }

    private var accounts: [UInt32: Account] = [:]
    private var exclusions: [UInt32: ContinuousClock.Instant] = [:]
    /// If there are more accounts than this, the old ones are removed.
    private var accountsToKeep = 64
    /// Called when a user has to stay away.
    var onExclusion: @EventLoop (UInt32) -> Void = { _ in }

    /// Whether the processor time that a user costs must be measured.
    func isSuspect(_ user: UInt32) -> Bool {
        !accounts.isEmpty && accounts[user].map { $0.wall >= Self.suspicion } ?? false
    }

    /// Whether a user has to stay away.
    func isExcluded(_ user: UInt32) -> Bool {
        guard !exclusions.isEmpty, let end = exclusions[user] else { return false }
        if ContinuousClock.now < end { return true }
        exclusions[user] = nil
        return false
    }

    /// Notes what a call has taken because of a user's socket, in nanoseconds.
    func charge(_ cost: UInt64, by clock: PeerCost.Clock, to user: UInt32) {
        let now = ContinuousClock.now
        forgetOld(now)
        var account = accounts[user] ?? Account(begin: now)
        if now - account.begin >= Self.period { account = Account(begin: now) }
        switch clock {
        case .wall: account.wall += cost
        case .processor: account.processor += cost
        }
        accounts[user] = account
        guard account.processor >= Self.limit, !isExcluded(user) else { return }
        exclusions[user] = now + .nanoseconds(account.processor) * Self.severity
        EventLoop.atEndOfTurn { self.onExclusion(user) }
    }

    private func forgetOld(_ now: ContinuousClock.Instant) {
        guard accounts.count + exclusions.count > accountsToKeep else { return }
        accounts = accounts.filter { now - $0.value.begin < Self.period }
        exclusions = exclusions.filter { now < $0.value }
        accountsToKeep = max(64, 2 * (accounts.count + exclusions.count))
    }
}
