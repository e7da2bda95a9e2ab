// SPDX-License-Identifier: Apache-2.0

import SystemdClient

/// Decides which notifications the service manager gets; performs no effects itself.
struct ServicePhase: ~Copyable {
    private enum State {
        case starting
        case up
        /// The number of reloads under way.
        case reloading(Int)
        case stopping
    }

    private var state = State.starting

    /// The service is up.
    mutating func started() -> ServiceManager.Notification? {
        guard case .starting = state else { return nil }
        state = .up
        return .ready
    }

    /// A reload begins.
    ///
    /// The manager expects no reload before the service is up or after it has begun to stop.
    mutating func reloadBegan() -> ServiceManager.Notification? {
        switch state {
        case .up:
            state = .reloading(1)
            return .reloading
        case .reloading(let count): state = .reloading(count + 1)
        case .starting, .stopping: break
        }
        return nil
    }

    /// A reload that began while the service was up has ended.
    mutating func reloadEnded() -> ServiceManager.Notification? {
        guard case .reloading(let count) = state else { return nil }
        state = count == 1 ? .up : .reloading(count - 1)
        return count == 1 ? .ready : nil
    }

    /// The service begins to stop.
    mutating func stopped() -> ServiceManager.Notification? {
        if case .stopping = state { return nil }
        state = .stopping
        return .stopping
    }
}
