// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import Synchronization

/// Waits for a matching state of one server: the current state, or the first later one.
///
/// The server need not exist yet. Each state is compared on the thread that posts it, so no state is missed, however
/// short.
public final class StateWait: Sendable {
    private enum State {
        /// The reader of the server's events, and the caller that waits.
        case looking(Watch?, CheckedContinuation<ServerState?, Never>?)
        case ended(ServerState?)
    }

    private let isWanted: @Sendable (ServerState) -> Bool
    private let progress = Mutex(State.looking(nil, nil))

    init(
        for name: ServerName, since: Cursor?, _ monitor: StatusMonitor,
        where isWanted: @escaping @Sendable (ServerState) -> Bool
    ) {
        self.isWanted = isWanted
        let watch = try? monitor.watch(.server(name), since: since, mayComeLater: true) { [weak self] _ in self?.look()
        }
        progress.withLock { $0 = .looking(watch, nil) }
        // A stream that continues has no snapshot.
        if since != nil, let state = try? monitor.state(of: name), isWanted(state) {
            end(state)
        } else {
            look()
        }
    }

    /// The state that matched; nil if there is none yet.
    public var found: ServerState? { if case .ended(let state) = progress.withLock({ $0 }) { state } else { nil } }

    /// Waits for the state; returns nil if the task is cancelled first.
    ///
    /// It may be called once.
    public func state() async -> ServerState? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let before = progress.withLock { progress in
                    defer { if case .looking(let watch, _) = progress { progress = .looking(watch, waiter) } }
                    return progress
                }
                if case .ended(let state) = before { waiter.resume(returning: state) }
            }
        } onCancel: {
            end(nil)
        }
    }

    private func look() {
        guard case .looking(let watch?, _) = progress.withLock({ $0 }) else { return }
        while let event = watch.next() {
            if event.kind != .removed, let state = event.server, isWanted(state) { return end(state) }
        }
    }

    private func end(_ state: ServerState?) {
        // The reader is released with this variable, outside the lock.
        let before = progress.withLock { progress in
            defer { if case .looking = progress { progress = .ended(state) } }
            return progress
        }
        if case .looking(_, let waiter?) = before { waiter.resume(returning: state) }
    }
}

extension StatusMonitor {
    /// Begins to wait for a state of a server, from this call on, or from a cursor on.
    public func wait(
        for name: ServerName, since: Cursor? = nil, where isWanted: @escaping @Sendable (ServerState) -> Bool
    ) -> StateWait {
        StateWait(for: name, since: since, self, where: isWanted)
    }
}
