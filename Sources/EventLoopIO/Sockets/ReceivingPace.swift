// SPDX-License-Identifier: Apache-2.0

/// Decides how many bytes to receive at a time from a peer that may make receiving slow (``ForeignSocket``).
///
/// Each byte may be a message that wakes what watches the peer. A cheap call says little about the next: a full queue wakes nothing until
/// three quarters of it have been received. So the fewer bytes are left, the fewer are received at a time. After a slow call it is one
/// byte, for long. Usually that means at most eight messages at once before that, or some sixty if a longer one follows them.
struct ReceivingPace {
    /// The first and the longest step, and the divisor: a step takes at most a 32nd of the bytes left, or the first step if that is more.
    private static let (firstStep, longestStep, divisor) = (8, 16_384, 32)
    /// After a slow call, steps grow only after this many quick calls in a row: usually more than a queue has messages.
    private static let patience = 1024

    private var most = firstStep
    private var wasSlow = false
    /// The number of quick calls in a row.
    private var quickCount = 0

    /// Returns how many bytes to receive next if `left` are left.
    func step(of left: Int) -> Int { min(left, most, max(Self.firstStep, left / Self.divisor)) }

    /// Records whether a call was slow.
    mutating func note(isSlow: Bool) {
        quickCount += 1
        if isSlow {
            (most, wasSlow, quickCount) = (1, true, 0)
        } else if !wasSlow || quickCount == Self.patience {
            (most, quickCount) = (min(2 * most, Self.longestStep), 0)
        }
    }
}
