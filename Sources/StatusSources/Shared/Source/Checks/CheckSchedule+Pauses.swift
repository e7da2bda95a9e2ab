// SPDX-License-Identifier: Apache-2.0

import SourceKinds

extension CheckSchedule {
    /// The time from the first load to the second: anywhere in the interval, so that what began together is spread over time.
    func spread(using generator: inout some RandomNumberGenerator) -> Duration {
        interval * Double.random(in: 0.05...1, using: &generator)
    }

    /// The time from a load to the next.
    func pause(using generator: inout some RandomNumberGenerator) -> Duration {
        interval * Double.random(in: 0.9...1.1, using: &generator)
    }
}
