// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Decides when a level that checks found is shown: after so many in a row that are worse than what is shown, or better.
struct Hysteresis {
    /// What becomes of a result.
    enum Verdict: Equatable {
        /// It is shown.
        case show
        /// It is one of so many that are needed.
        case hold(Int, of: Int)
    }

    enum Direction {
        case worse, better
    }

    /// What is said of a result that is held back.
    static func remark(_ text: StatusText, _ level: Level, _ count: Int, of needed: Int) -> String {
        "\(text) [\(level.rawValue)]; \(count) of \(needed) before it counts"
    }

    let failures: Int
    let successes: Int
    private(set) var shown: Level?
    private var direction = Direction.worse
    private var streak = 0

    /// - Parameters:
    ///   - failures: how many worse ones in a row count.
    ///   - successes: how many better ones in a row count.
    ///   - shown: what is shown already; nil where nothing is, so that the first result counts at once.
    init(failures: Int, successes: Int, shown: Level?) {
        self.failures = failures
        self.successes = successes
        self.shown = shown
    }

    /// Whether a level is worse or better than what is shown; nil if it is neither, or nothing is shown.
    func direction(of level: Level) -> Direction? {
        guard let shown, level != shown else { return nil }
        return level.rank > shown.rank ? .worse : .better
    }

    /// Takes a result.
    ///
    /// - Parameter isExtra: whether the load was not one of those that are to be counted: it may begin a row, and end it, but makes it no longer.
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

extension Level {
    /// How bad it is: what is not known is worse than a warning, since it may be anything.
    fileprivate var rank: Int {
        switch self {
        case .ok: 0
        case .warning: 1
        case .unknown: 2
        case .critical: 3
        }
    }
}
