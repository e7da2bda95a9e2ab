// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Shows a level only after several results in a row that are worse or better than the shown level.
struct Hysteresis {
    enum Verdict: Equatable {
        case show
        /// Do not show it yet: it is one of several results that are needed.
        case hold(Int, of: Int)
    }

    enum Direction {
        case worse, better
    }

    /// Returns the message for a result that does not count yet.
    static func message(_ text: StatusText, _ level: Level, _ count: Int, of needed: Int) -> String {
        "\(text) [\(level.rawValue)]; \(count) of \(needed) before it counts"
    }

    let failures: Int
    let successes: Int
    private(set) var shown: Level?
    private var direction = Direction.worse
    private var streak = 0

    /// The number of results in a row that do not count yet: positive if they are worse, negative if better.
    var signedStreak: Int { direction == .worse ? streak : -streak }

    /// - Parameters:
    ///   - failures, successes: the numbers of worse and of better results in a row that are needed.
    ///   - shown: the shown level; nil if there is none, so that the first result counts at once.
    ///   - signedStreak: the results before a restart (``signedStreak``).
    init(failures: Int, successes: Int, shown: Level?, signedStreak: Int = 0) {
        self.failures = failures
        self.successes = successes
        self.shown = shown
        direction = signedStreak < 0 ? .better : .worse
        let needed = UInt(signedStreak < 0 ? successes : failures)
        // There may be too many if the configuration has changed, or if the saved state is damaged.
        streak = shown == nil ? 0 : Int(min(signedStreak.magnitude, needed))
    }

    /// Whether a level is worse or better than the shown level; nil if neither, or if none is shown.
    func direction(of level: Level) -> Direction? {
        guard let shown, level != shown else { return nil }
        return level.isWorse(than: shown) ? .worse : .better
    }

    /// Takes a result.
    ///
    /// - Parameter isExtra: whether the check is an extra one, which can start or end a row, but not lengthen it.
    mutating func take(_ level: Level, isExtra: Bool = false) -> Verdict {
        guard let direction = direction(of: level) else { return show(level) }
        if direction != self.direction { streak = 0 }
        self.direction = direction
        if !isExtra || streak == 0 { streak += 1 }
        let needed = direction == .worse ? failures : successes
        return streak < needed ? .hold(streak, of: needed) : show(level)
    }

    private mutating func show(_ level: Level) -> Verdict {
        shown = level
        streak = 0
        return .show
    }
}
