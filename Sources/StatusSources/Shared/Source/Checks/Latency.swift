// SPDX-License-Identifier: Apache-2.0

/// Formats latencies so that the text changes only when the latency changes much.
///
/// No two measurements are the same, so every load would be a change. The shown value stays until it is off by a factor
/// of two, and all below ten milliseconds are alike: that the text of a server nearby stays is worth more than its
/// fractions.
struct Latency {
    private var shown: Duration?

    /// Shown as “under 20 ms”, which is true as long as it is shown.
    private static let floor = Duration.milliseconds(10)

    /// The text for a measurement: `under 20 ms`, `12 ms`, `1.5 s`.
    mutating func text(for measured: Duration) -> String {
        let measured = max(measured, Self.floor)
        if let shown, measured < shown * 2, shown < measured * 2 { return Self.text(shown) }
        shown = measured
        return Self.text(measured)
    }

    private static func text(_ duration: Duration) -> String {
        if duration <= floor { return "under 20 ms" }
        let milliseconds = Int(duration / .milliseconds(1))
        switch milliseconds {
        case ..<100: return "\(milliseconds) ms"
        case ..<1000: return "\((milliseconds + 5) / 10 * 10) ms"
        default: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        }
    }
}
