// SPDX-License-Identifier: Apache-2.0

/// Formats numbers of bytes: `512 B`, `1.5 KiB`, `12 MiB`.
enum ByteCount {
    private static let units = ["KiB", "MiB", "GiB", "TiB"]

    /// At least two digits, so that the text changes seldom while a file grows.
    static func text(_ bytes: Int) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var (tenths, unit) = (bytes / 1024 * 10 + bytes % 1024 * 10 / 1024, 0)
        while tenths >= 10_240, unit < units.count - 1 { (tenths, unit) = (tenths / 1024, unit + 1) }
        return tenths < 100 && tenths % 10 != 0
            ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(tenths / 10) \(units[unit])"
    }
}
