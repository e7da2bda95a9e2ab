// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Timestamp {
    /// Returns the time to the minute, such as `2026-11-22 03:12 UTC`, or to the second if it must be precise.
    ///
    /// Unlike an age, it stays true, so a status does not change while nothing happens.
    func text(isPrecise: Bool = false) -> String {
        "\(description.prefix(isPrecise ? 19 : 16).split(separator: "T").joined(separator: " ")) UTC"
    }
}
