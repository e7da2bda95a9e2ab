// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusSupport

/// Shows on a terminal how long work has been running, and how much of it is done.
///
/// It appears on standard error after half a second, because quicker work does not need it. It is erased at the end. If
/// standard error is not a terminal, it shows nothing; nor does it if standard output is a pipe, because a pager at its
/// other end draws on the same terminal.
@EventLoop
final class ProgressIndicator {
    private static let delay = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(100)
    nonisolated static let frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
    nonisolated static let plainFrames = ["|", "/", "-", "\\"]

    /// Returns to the first column and clears the line.
    private nonisolated static let erase: StaticString = "\r\u{1b}[K"

    /// The indicator of work that is running; nil for none.
    private static weak var current: ProgressIndicator?

    private let isShown: Bool
    private let environment: [String: String]
    private let frames: [String]
    /// How much of the work is done.
    var done = 0
    private var count = 0
    private var timer: TimerSource?
    private var drawn = ""

    /// - Parameters:
    ///   - terminal: if it writes JSON, there is no indicator.
    ///   - environment: says whether the terminal can move its cursor.
    init(_ terminal: Terminal, environment: [String: String]) {
        self.environment = environment
        isShown =
            !terminal.isJSON && isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb" && !Self.writesToPipe
        frames = terminal.charset.isUTF8 ? Self.frames : Self.plainFrames
    }

    private static var writesToPipe: Bool {
        var status = stat()
        return fstat(STDOUT_FILENO, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Runs `work` and shows the indicator until it ends.
    ///
    /// - Parameter text: what it shows when ``done`` has this value.
    func callAsFunction<Result>(
        _ text: @escaping (Int) -> String, _ work: () async throws -> Result
    ) async throws -> Result {
        guard isShown else { return try await work() }
        // Ctrl-C ends the process. The daemon then sees that the caller has disconnected.
        if !SignalSource.isIgnored(SIGINT) {
            signal(SIGINT) { _ in
                _ = write(STDERR_FILENO, ProgressIndicator.erase.utf8Start, ProgressIndicator.erase.utf8CodeUnitCount)
                _exit(130)
            }
        }
        let began = ContinuousClock.now
        timer = try TimerSource { [weak self] in self.map { $0.show(text($0.done), since: began) } }
        timer?.schedule(after: Self.delay)
        Self.current = self
        defer {
            Self.current = nil
            timer?.cancel()
            if !drawn.isEmpty { draw("") }
        }
        return try await work()
    }

    /// Erases the indicator, if there is one, while `write` writes lines that do not belong to its work.
    static func interruptAny(_ write: () -> Void) {
        if let current { current.interrupt(write) } else { write() }
    }

    /// Erases the indicator while `write` writes lines.
    ///
    /// - Parameter isBrief: whether it is there again at once, and not only with its next frame, as between many lines.
    func interrupt(isBrief: Bool = true, _ write: () -> Void) {
        let line = drawn
        if !line.isEmpty { draw("") }
        write()
        if !line.isEmpty, isBrief { draw(line) }
    }

    private func show(_ text: String, since began: ContinuousClock.Instant) {
        let tenths = Int((ContinuousClock.now - began) / .milliseconds(100))
        let time = " \(tenths / 10).\(tenths % 10) s"
        // It must fit on one line of the terminal, because only one line can be erased.
        let room = Terminal.width(of: STDERR_FILENO, environment).map { max(0, $0 - time.count - 3) } ?? Int.max
        draw("\(frames[count % frames.count]) \(text.cut(to: room))\(time)")
        count += 1
        timer?.schedule(after: Self.interval)
    }

    private func draw(_ line: String) {
        drawn = line
        StandardOutput.write("\(Self.erase)\(line)", to: STDERR_FILENO)
    }
}
