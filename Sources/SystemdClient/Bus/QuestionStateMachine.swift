// SPDX-License-Identifier: Apache-2.0

/// Decides what has to be asked about a unit, one question at a time; performs no effects itself.
struct QuestionStateMachine: ~Copyable {
    /// What has to be asked of the manager.
    enum Need: Int, Comparable {
        case nothing
        /// Whether the unit is loaded; the rest only if that matters.
        case look
        /// Everything.
        case read

        static func < (left: Need, right: Need) -> Bool { left.rawValue < right.rawValue }
    }

    typealias Instant = SuspendingClock.Instant

    private enum State {
        /// Everything has been answered.
        case settled
        /// Something has to be asked; if it was asked in vain before, since when.
        case due(Need, askedInVainSince: Instant?)
        /// A question is under way; what has to be asked after it.
        case asked(at: Instant, next: Need, askedInVainSince: Instant?)
    }

    private var state = State.settled

    /// Whether there is nothing left to ask.
    var isSettled: Bool { if case .settled = state { true } else { false } }
    /// Whether a question is under way.
    var isAsked: Bool { if case .asked = state { true } else { false } }
    /// Whether something has to be asked, and nothing is under way.
    var isDue: Bool { if case .due = state { true } else { false } }

    /// More has to be asked; returns whether the unit has to get in line for it.
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

    /// The question is put; returns what has to be asked.
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

    /// The question was refused, and has to be put again.
    mutating func refused() {
        guard case .asked(let time, _, let since) = state else { return }
        state = .due(.read, askedInVainSince: since ?? time)
    }

    /// Nothing can be asked any more.
    mutating func lost() { state = .settled }

    /// Whether what was asked before this time has not been answered, however often it was asked again.
    func isInVain(askedBefore time: Instant) -> Bool {
        switch state {
        case .due(_, let since?), .asked(_, _, let since?): since < time
        case .settled, .due(_, nil), .asked(_, _, nil): false
        }
    }
}
