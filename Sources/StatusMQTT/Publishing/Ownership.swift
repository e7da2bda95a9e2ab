// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Decides whether this machine may publish under its name, from what `$state` of that name says.
///
/// Two machines may have the same name by mistake. The one that came first stays, and the other publishes nothing. All
/// times are of the clock that continues in suspend.
struct Ownership {
    enum State: Equatable {
        /// What the broker keeps is not known yet.
        case looking
        case publishing
        /// Another machine has this name, and was last heard at this time.
        case waiting(Presence, heardAt: Duration)
    }

    enum Action: Equatable {
        /// Begin to publish.
        case publish
        /// Do not publish, because of this machine.
        case hold(Presence)
        /// Stop publishing, because this machine came first.
        case yield(Presence)
        /// Connect again, with a higher number than the other machine, which will yield.
        case stay(Presence)
        /// Publish `ready` again, because something else overwrote it.
        case sayReady
        /// Connect again, because hosts that follow take this connection for ended.
        case connectAgain
    }

    /// After so long without a message, a machine is gone, although its will was not sent: three beats are missing.
    static let longestSilence = Duration.seconds(180)

    let machine: String
    private(set) var state = State.looking
    /// The number of the first connection since this machine has been publishing.
    private(set) var first: Int?
    /// The number of the present connection.
    private var epoch: Int?

    init(machine: String) { self.machine = machine }

    /// A publishing connection has begun.
    mutating func connected(epoch: Int) {
        self.epoch = epoch
        if first == nil { first = epoch }
    }

    /// The broker has sent what it keeps, or does not let this host read it.
    mutating func looked() -> Action? { state == .looking ? begin() : nil }

    /// A message in `$state` of this name was heard; nil for an empty or invalid one.
    ///
    /// - Parameter mayBeStopped: whether this host itself has said that it is stopped, because statusd is away.
    mutating func heard(_ presence: Presence?, mayBeStopped: Bool = false, now: Duration) -> Action? {
        guard let presence, presence.machine != machine || presence.state != .ready else {
            return heardOwn(presence)
        }
        let isRival = presence.machine != machine && presence.state == .ready
        switch state {
        case .waiting where presence.machine == machine: return nil
        case .looking, .waiting:
            guard isRival else { return begin() }
            let known = rival
            // What the broker keeps comes again with each subscription, and is no sign of life.
            if known != presence { state = .waiting(presence, heardAt: now) }
            return known == nil ? .hold(presence) : nil
        case .publishing:
            if isRival { return isBefore(presence) ? stay(presence) : yield(presence, now) }
            let isOwn =
                mayBeStopped && presence.machine == machine && presence.state == .stopped && presence.epoch == epoch
            return !isOwn && presence.epoch >= epoch ?? .max ? .connectAgain : .sayReady
        }
    }

    /// Time has passed.
    mutating func tick(now: Duration) -> Action? {
        guard case .waiting(_, let heardAt) = state, now - heardAt >= Self.longestSilence else { return nil }
        return begin()
    }

    private var rival: Presence? { if case .waiting(let presence, _) = state { presence } else { nil } }

    private mutating func heardOwn(_ presence: Presence?) -> Action? {
        switch (state, presence) {
        case (.looking, .some): return begin()
        case (.publishing, nil): return .sayReady
        // Another connection of this machine, such as of a second statusd-mqtt with the same name.
        case (.publishing, .some(let presence)): return presence.epoch > epoch ?? .max ? .stay(presence) : nil
        default: return nil
        }
    }

    private mutating func begin() -> Action {
        (state, first, epoch) = (.publishing, nil, nil)
        return .publish
    }

    private func stay(_ presence: Presence) -> Action {
        // Hosts that follow take the higher number.
        presence.epoch >= epoch ?? 0 ? .stay(presence) : .sayReady
    }

    private mutating func yield(_ presence: Presence, _ now: Duration) -> Action {
        state = .waiting(presence, heardAt: now)
        return .yield(presence)
    }

    /// Whether this machine came before another one.
    private func isBefore(_ other: Presence) -> Bool {
        guard let first else { return false }
        return (first, machine) < (other.first ?? other.epoch, other.machine)
    }
}
