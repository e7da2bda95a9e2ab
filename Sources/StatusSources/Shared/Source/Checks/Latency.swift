// SPDX-License-Identifier: Apache-2.0

/// Formats latencies so that the text changes only when the latency changes much.
///
/// No two measurements are the same, so every load would be a change. The shown value stays until it is off by a factor of two, and all below a
/// millisecond are alike.
struct Latency {
    private var shown: Duration?

    private static let floor = Duration.milliseconds(1)

    /// The text for a measurement: `under 1 ms`, `42 ms`, `1.5 s`.
    mutating func text(for measured: Duration) -> String {
        let measured = max(measured, Self.floor)
        if let shown, measured < shown * 2, shown < measured * 2 { return Self.text(shown) }
        shown = measured
        return Self.text(measured)
    }

    private static func text(_ duration: Duration) -> String {
        if duration <= floor { return "under 1 ms" }
        let milliseconds = Int(duration / .milliseconds(1))
        switch milliseconds {
        case ..<100: return "\(milliseconds) ms"
        case ..<1000: return "\((milliseconds + 5) / 10 * 10) ms"
        default: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        }
    }
}
