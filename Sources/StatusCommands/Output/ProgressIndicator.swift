// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Shows on a terminal that something is under way, and for how long, as long as it is.
///
/// It appears after 200 ms, since what is quicker needs none, on standard error, and leaves nothing behind. Where standard error is
/// no terminal there is none.
final class ProgressIndicator: Sendable {
    private static let delay = Duration.milliseconds(200)
    private static let interval = Duration.milliseconds(100)
    private static let frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
    private static let plainFrames = ["|", "/", "-", "\\"]

    /// Back to the first column, and nothing right of it.
    private static let erase: StaticString = "\r\u{1b}[K"

    private let isShown: Bool
    private let frames: [String]

    /// - Parameters:
    ///   - terminal: where JSON is wanted there is no indicator.
    ///   - environment: says whether the terminal knows more than ASCII.
    init(_ terminal: Terminal, environment: [String: String]) {
        isShown = !terminal.isJSON && isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
        let locale = environment["LC_ALL"] ?? environment["LC_CTYPE"] ?? environment["LANG"] ?? ""
        let isUnicode = locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
        frames = isUnicode ? Self.frames : Self.plainFrames
    }

    /// Runs `work`, with the indicator for as long as it takes.
    func callAsFunction<Result: Sendable>(
        _ text: String, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard isShown else { return try await work() }
        // Ctrl-C ends the process, and with it the connection, by which the daemon knows that nobody waits any more.
        signal(SIGINT) { _ in
            _ = write(STDERR_FILENO, ProgressIndicator.erase.utf8Start, ProgressIndicator.erase.utf8CodeUnitCount)
            _exit(130)
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.animate(text) }
            defer { group.cancelAll() }
            let result = try await work()
            group.cancelAll()
            try? await group.waitForAll()
            return result
        }
    }

    private func animate(_ text: String) async throws {
        let began = ContinuousClock.now
        try await Task.sleep(for: Self.delay)
        defer { Self.draw("") }
        for count in 0... {
            let tenths = Int((ContinuousClock.now - began) / .milliseconds(100))
            Self.draw("\(frames[count % frames.count]) \(text) \(tenths / 10).\(tenths % 10) s")
            try await Task.sleep(for: Self.interval)
        }
    }

    private static func draw(_ line: String) {
        let bytes = Array("\(erase)\(line)".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
