// SPDX-License-Identifier: Apache-2.0

/// Reads whole numbers with systemd's suffixes for sizes, which are powers of 1024: `64K`, `1M`.
enum Count {
    /// Reads a number that is not negative; nil if `text` is not one, or it is too large.
    static func parse(_ text: String) -> Int? {
        var digits = text[...]
        var factor = 1
        switch digits.last {
        case "K": factor = 1 << 10
        case "M": factor = 1 << 20
        case "G": factor = 1 << 30
        default: break
        }
        if factor > 1 { digits.removeLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(digits) else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }
}
