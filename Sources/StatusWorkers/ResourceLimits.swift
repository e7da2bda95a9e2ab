// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The resource limits of this process (getrlimit(2)).
///
/// Every process of the same user can lower them with prlimit(2), and nobody can raise them again.
struct ResourceLimits: Equatable {
    private let values: [[rlim_t]]

    /// The limits as they are now.
    static var current: ResourceLimits {
        ResourceLimits(
            values: (0..<__RLIMIT_NLIMITS.rawValue).map { resource in
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(resource), &limit)
                return [limit.rlim_cur, limit.rlim_max]
            })
    }
}
