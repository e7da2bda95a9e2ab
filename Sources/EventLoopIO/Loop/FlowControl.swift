// SPDX-License-Identifier: Apache-2.0

/// Holds up producers while the consumers of their output are behind, so that a consumer that can keep up misses nothing.
///
/// It does so only for a moment: a consumer that stays behind misses something then.
@EventLoop
public enum FlowControl {
    /// Whether input must wait.
    public private(set) static var isHeld = false
    private static var waiting: [@EventLoop () -> Void] = []
    private static var timer: TimerSource?

    /// The longest time that input is held up at a stretch.
    private static let longestHold = Duration.milliseconds(100)

    /// Holds up input until it is released, for at most 100 ms.
    public static func hold() {
        guard !isHeld else { return }
        // Without a timer, input might be held up for ever.
        if timer == nil { timer = try? TimerSource { release() } }
        guard let timer else { return }
        isHeld = true
        timer.schedule(after: longestHold)
    }

    /// Lets input continue, in the order in which it arrived.
    public static func release() {
        guard isHeld else { return }
        isHeld = false
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
    }

    /// Calls `body` when input need not wait: at once if nothing is held up.
    public static func whenReleased(_ body: @escaping @EventLoop () -> Void) {
        if isHeld { waiting.append(body) } else { body() }
    }
}
