// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

package struct TimeLimitExceeded: Error {}

/// Runs `body` and cancels it after `limit`; returns when it has ended, which may be later.
///
/// - Throws: the errors of `body`; ``TimeLimitExceeded`` after the limit.
package func withTimeLimit<Result: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await EventLoop.sleep(for: limit)
            throw TimeLimitExceeded()
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}
