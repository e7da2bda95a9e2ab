// SPDX-License-Identifier: Apache-2.0

/// Holds up those who bring in what others hand on, as long as these are behind: so whoever can keep up misses nothing, however much comes in.
///
/// Only for a moment: those who are behind may never be done, and then miss something.
@EventLoop
public enum FlowControl {
    /// Whether what comes in has to wait.
    public private(set) static var isHeld = false
    private static var waiting: [@EventLoop () -> Void] = []
    private static var timer: TimerSource?

    /// The longest time that anything is held up at one go.
    private static let longestHold = Duration.milliseconds(100)

    /// Holds up what comes in, until it is released or its time is over.
    public static func hold() {
        guard !isHeld else { return }
        // Without a timer nothing could be held for certain not to be forgotten.
        if timer == nil { timer = try? TimerSource { release() } }
        guard let timer else { return }
        isHeld = true
        timer.schedule(after: longestHold)
    }

    /// Lets what has been held up go on, in the order in which it came.
    public static func release() {
        guard isHeld else { return }
        isHeld = false
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
    }

    /// Calls `body` when nothing has to wait any more: at once where nothing does.
    public static func whenReleased(_ body: @escaping @EventLoop () -> Void) {
        if isHeld { waiting.append(body) } else { body() }
    }
}
