// SPDX-License-Identifier: Apache-2.0

import AlertHistories
import Foundation

/// Runs random histories: `alert-histories [NUMBER [FIRST-SEED]]`; a failing one is shown in its shortest form.
@main
enum Main {
    static func main() {
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        let first = numbers.dropFirst().first ?? 0
        let count = numbers.first ?? 100_000
        for seed in first..<first + count {
            let outage = seed % 10 == 0 ? Outage(seed: seed).report : nil
            guard let report = outage ?? History(seed: seed, steps: 40).report else { continue }
            print("FAIL a history of alerts\n\(report)\n0 passed, 1 failed, 0 skipped")
            exit(1)
        }
        print("ok   \(count) histories of alerts from seed \(first): each promise was kept")
        print("1 passed, 0 failed, 0 skipped")
    }
}
