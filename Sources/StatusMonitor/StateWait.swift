// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import Synchronization

/// Waits for a matching state of one server: the current state, or the first later one.
///
/// The server need not exist yet. Each state is compared on the thread that posts it, so no state is missed, however
/// short.
public final class StateWait: Sendable {
    private enum Progress {
        case looking(CheckedContinuation<ServerState?, Never>?)
        case ended(ServerState?)
    }

    private let isWanted: @Sendable (ServerState) -> Bool
    private let progress = Mutex(Progress.looking(nil))
    /// The reader of the server's events, while the wait lasts.
    private let watch = Mutex<Watch?>(nil)

    init(
        for name: ServerName, since: Cursor?, _ monitor: StatusMonitor,
        where isWanted: @escaping @Sendable (ServerState) -> Bool
    ) {
        self.isWanted = isWanted
        let watch = try? monitor.watch(.server(name), since: since, mayComeLater: true) { [weak self] _ in self?.look()
        }
        self.watch.withLock { $0 = watch }
        // A stream that continues has no snapshot.
        if since != nil, let state = try? monitor.state(of: name), isWanted(state) {
            end(state)
        } else {
            look()
        }
    }

    /// The state that matched; nil if there is none yet.
    public var found: ServerState? {
        progress.withLock { if case .ended(let state) = $0 { state } else { nil } }
    }

    /// Waits for the state; returns nil if the task is cancelled first.
    ///
    /// It may be called once.
    public func state() async -> ServerState? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let ended: ServerState?? = progress.withLock { progress in
                    if case .ended(let state) = progress { return .some(state) }
                    progress = .looking(waiter)
                    return nil
                }
                if let ended { waiter.resume(returning: ended) }
            }
        } onCancel: {
            end(nil)
        }
    }

    private func look() {
        guard let watch = watch.withLock({ $0 }) else { return }
        while let event = watch.next() {
            if event.kind != .removed, let state = event.server, isWanted(state) { return end(state) }
        }
    }

    private func end(_ state: ServerState?) {
        // Released outside the locks.
        let watch = watch.withLock { $0.take() }
        let waiter: CheckedContinuation<ServerState?, Never>? = progress.withLock { progress in
            guard case .looking(let waiter) = progress else { return nil }
            progress = .ended(state)
            return waiter
        }
        waiter?.resume(returning: state)
        withExtendedLifetime(watch) {}
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
