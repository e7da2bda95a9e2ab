// SPDX-License-Identifier: Apache-2.0

/// How many bytes are received at a time from a peer that may make that slow (``ForeignSocket``).
///
/// Each byte may be a message that wakes what watches the peer. That one was cheap says little about the next: a full queue wakes nobody before three
/// quarters of it have been received. So the fewer are left, the fewer are received at a time, and after a call that was slow one byte, for long. As a
/// rule eight messages at the most are received at once before that, some sixty if a longer one stands behind them.
struct ReceivingPace {
    /// How many bytes are received at a time, at first and at the most, and which part of all that is left.
    private static let (firstStep, longestStep, part) = (8, 16_384, 32)
    /// After how many calls in a row that were not slow the steps become longer, once one was: more than a queue has messages, as a rule.
    private static let patience = 1024

    private var most = firstStep
    private var wasSlow = false
    /// How many calls in a row were not slow.
    private var quickCount = 0

    /// How many bytes to receive next, if so many are left.
    func step(of left: Int) -> Int { min(left, most, max(Self.firstStep, left / Self.part)) }

    /// Notes whether a call was slow.
    mutating func note(isSlow: Bool) {
        quickCount += 1
        if isSlow {
            (most, wasSlow, quickCount) = (1, true, 0)
        } else if !wasSlow || quickCount == Self.patience {
            (most, quickCount) = (min(2 * most, Self.longestStep), 0)
        }
    }
}
