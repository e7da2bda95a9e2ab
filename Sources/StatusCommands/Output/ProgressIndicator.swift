// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusSupport
import Synchronization

/// Shows on a terminal how long work has been running.
///
/// It appears on standard error after 200 ms, because quicker work does not need it. It is erased at the end. If
/// standard error is not a terminal, it shows nothing.
final class ProgressIndicator: Sendable {
    private static let delay = Duration.milliseconds(200)
    private static let interval = Duration.milliseconds(100)
    private static let frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
    private static let plainFrames = ["|", "/", "-", "\\"]

    /// Returns to the first column and clears the line.
    private static let erase: StaticString = "\r\u{1b}[K"

    private let isShown: Bool
    private let environment: [String: String]
    private let frames: [String]
    /// The drawn line; the lock serializes all writes.
    private let drawn = Mutex("")

    /// - Parameters:
    ///   - terminal: if it writes JSON, there is no indicator.
    ///   - environment: says whether the terminal can move its cursor.
    init(_ terminal: Terminal, environment: [String: String]) {
        self.environment = environment
        isShown = !terminal.isJSON && isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
        frames = terminal.charset.isUTF8 ? Self.frames : Self.plainFrames
    }

    /// Runs `work` and shows the indicator until it ends.
    func callAsFunction<Result: Sendable>(
        _ text: String, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard isShown else { return try await work() }
        // Ctrl-C ends the process. The daemon then sees that the caller has disconnected.
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

    /// Erases the indicator while `write` writes lines.
    func interrupt(_ write: () -> Void) {
        drawn.withLock { drawn in
            Self.draw(drawn.isEmpty ? nil : "")
            write()
            Self.draw(drawn.isEmpty ? nil : drawn)
        }
    }

    private func animate(_ text: String) async throws {
        let began = ContinuousClock.now
        try await EventLoop.sleep(for: Self.delay)
        defer { show("") }
        for count in 0... {
            let tenths = Int((ContinuousClock.now - began) / .milliseconds(100))
            let time = " \(tenths / 10).\(tenths % 10) s"
            let frame = frames[count % frames.count]
            // It must fit on one line of the terminal, because only one line can be erased.
            let room = Terminal.width(of: STDERR_FILENO, environment).map { max(0, $0 - time.count - 3) } ?? Int.max
            show("\(frame) \(text.cut(to: room))\(time)")
            try await EventLoop.sleep(for: Self.interval)
        }
    }

    private func show(_ line: String) {
        drawn.withLock { drawn in
            drawn = line
            Self.draw(line)
        }
    }

    private static func draw(_ line: String?) {
        guard let line else { return }
        let bytes = Array("\(erase)\(line)".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
