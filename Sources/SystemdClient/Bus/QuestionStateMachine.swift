// SPDX-License-Identifier: Apache-2.0

/// Decides which question about a unit to ask the manager, one at a time; performs no effects itself.
struct QuestionStateMachine: ~Copyable {
    /// A question for the manager.
    enum Need: Int, Comparable {
        case nothing
        /// Whether the unit is loaded; its properties only if that matters.
        case look
        /// All properties.
        case read

        static func < (left: Need, right: Need) -> Bool { left.rawValue < right.rawValue }
    }

    typealias Instant = SuspendingClock.Instant

    private enum State {
        /// All questions have been answered.
        case settled
        /// A question is due.
        ///
        /// `askedInVainSince`: when it was first asked, if it has been refused.
        case due(Need, askedInVainSince: Instant?)
        /// A question is unanswered; another one may follow it.
        case asked(at: Instant, next: Need, askedInVainSince: Instant?)
    }

    private var state = State.settled

    /// Whether all questions have been answered.
    var isSettled: Bool { if case .settled = state { true } else { false } }
    /// Whether a question is unanswered.
    var isAsked: Bool { if case .asked = state { true } else { false } }
    /// Whether a question must be asked and none is unanswered.
    var isDue: Bool { if case .due = state { true } else { false } }

    /// A question must be asked; returns whether the unit must be queued for it.
    mutating func needs(_ more: Need) -> Bool {
        switch state {
        case .settled:
            state = .due(more, askedInVainSince: nil)
            return true
        case .due(let need, let since): state = .due(max(need, more), askedInVainSince: since)
        case .asked(let time, let next, let since):
            state = .asked(at: time, next: max(next, more), askedInVainSince: since)
        }
        return false
    }

    /// The question is asked; returns which.
    mutating func begin(at now: Instant) -> Need {
        switch state {
        case .settled:
            state = .asked(at: now, next: .nothing, askedInVainSince: nil)
            return .nothing
        case .due(let need, let since), .asked(_, let need, let since):
            state = .asked(at: now, next: .nothing, askedInVainSince: since)
            return need
        }
    }

    /// The question was answered.
    mutating func answered() {
        guard case .asked(_, let next, _) = state else { return }
        state = next == .nothing ? .settled : .due(next, askedInVainSince: nil)
    }

    /// The question was refused and must be repeated.
    mutating func refused() {
        guard case .asked(let time, _, let since) = state else { return }
        state = .due(.read, askedInVainSince: since ?? time)
    }

    /// No question can be asked any more.
    mutating func lost() { state = .settled }

    /// Whether a question asked before this time was refused each time it was repeated.
    func isInVain(askedBefore time: Instant) -> Bool {
        switch state {
        case .due(_, let since?), .asked(_, _, let since?): since < time
        case .settled, .due(_, nil), .asked(_, _, nil): false
        }
    }
}
