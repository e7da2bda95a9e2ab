// SPDX-License-Identifier: Apache-2.0

/// Limits how many messages a host may send.
struct TokenBucket {
    /// Room for all servers of a host twice, because a subscription sends them all at once.
    static let burst = 2048.0
    /// Messages in a second.
    static let rate = 50.0

    private var tokens = burst
    private var filledAt: Duration

    init(now: Duration) { filledAt = now }

    /// Takes a message; returns whether there was room for it.
    mutating func take(now: Duration) -> Bool {
        tokens = min(Self.burst, tokens + (now - filledAt) / .seconds(1) * Self.rate)
        filledAt = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// Whether there is room for all servers of the host again.
    func isHalfFull(now: Duration) -> Bool { count(now) >= Self.burst / 2 }

    /// Whether it is like a new one.
    func isFull(now: Duration) -> Bool { count(now) >= Self.burst }

    private func count(_ now: Duration) -> Double { tokens + (now - filledAt) / .seconds(1) * Self.rate }
}
