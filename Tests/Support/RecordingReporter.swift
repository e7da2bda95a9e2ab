// SPDX-License-Identifier: Apache-2.0

import StatusModel
package import StatusMonitor
import Synchronization

/// Records reports as `name: text`, and lets a test wait for them.
package final class RecordingReporter: Reporter {
    private let state = Mutex<(lines: [String], waiters: [(String, CheckedContinuation<Void, Never>)])>(([], []))

    package init() {}

    /// The reports, in order; `none` if no server was selected.
    package var lines: [String] { state.withLock { $0.lines } }

    package func report(_ report: Report) {
        let line = report.server.map { "\($0.name): \($0.headline)" } ?? "none"
        let due = state.withLock { state in
            state.lines.append(line)
            let due = state.waiters.filter { $0.0 == line }
            state.waiters.removeAll { $0.0 == line }
            return due
        }
        for (_, continuation) in due { continuation.resume() }
    }

    /// Returns when this line has been reported.
    package func wait(for line: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.lines.contains(line) { return true }
                state.waiters.append((line, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
