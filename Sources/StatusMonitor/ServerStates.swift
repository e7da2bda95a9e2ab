// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// The states of one server, which need not exist yet: the current one, and from then on each, however short it lasts.
public struct ServerStates: Sendable {
    /// The state at the beginning; nil where there was no such server.
    public let current: ServerState?
    private let watch: Watch?
    private let wakes: AsyncStream<Void>

    init(of name: ServerName, _ monitor: StatusMonitor) {
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes
        watch = try? monitor.watch(.server(name), mayComeLater: true) { _ in continuation.yield() }
        // Taken now: a snapshot is of the moment at which it is read, and stands for all that was before.
        current = watch?.next()?.server
    }

    /// Waits for a state, be it the current one; nil where the task is cancelled before it comes.
    public func first(where isWanted: @Sendable (ServerState) -> Bool) async -> ServerState? {
        if let current, isWanted(current) { return current }
        var iterator = wakes.makeAsyncIterator()
        repeat {
            while let event = watch?.next() {
                if event.kind != .removed, let state = event.server, isWanted(state) { return state }
            }
        } while await iterator.next() != nil
        return nil
    }
}

extension StatusMonitor {
    /// The states of a server from this call on, which waits for nothing.
    public func states(of name: ServerName) -> ServerStates { ServerStates(of: name, self) }
}
