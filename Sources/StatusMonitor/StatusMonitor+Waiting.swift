// SPDX-License-Identifier: Apache-2.0

public import StatusModel

extension StatusMonitor {
    /// Waits for a state of a server, which need not exist yet; nil where the task is cancelled before.
    ///
    /// Each state is looked at, however short it lasts; the current one first.
    public func state(
        of name: ServerName, where isWanted: @Sendable (ServerState) -> Bool
    ) async -> ServerState? {
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let watch = try? watch(.server(name), mayComeLater: true, onEvents: { continuation.yield() }) else {
            return nil
        }
        var iterator = wakes.makeAsyncIterator()
        repeat {
            while let event = watch.next() {
                if event.kind != .removed, let state = event.server, isWanted(state) { return state }
            }
        } while await iterator.next() != nil
        return nil
    }
}
