// SPDX-License-Identifier: Apache-2.0

/// Runs the bodies of one call of `forLatest`, one after another.
struct BodyRunner<Identity: Equatable & Sendable, Failure: Error>: Sendable {
    private let name: String
    private let executorPreference: (any TaskExecutor)?
    private let priority: TaskPriority?
    private let body: @Sendable (Identity) async throws(Failure) -> Void
    private let latest = LatestIdentity<Identity, Failure>()

    init(
        _ name: String, _ executorPreference: (any TaskExecutor)?, _ priority: TaskPriority?,
        _ body: @escaping @Sendable (Identity) async throws(Failure) -> Void
    ) {
        self.name = name
        self.executorPreference = executorPreference
        self.priority = priority
        self.body = body
    }

    /// Runs the body for the newest identity until there are no more; throws the first error.
    ///
    /// - Parameters:
    ///   - identities: The identities.
    ///   - failure: Converts the sequence's errors.
    func run<Identities: AsyncSequence>(
        for identities: sending Identities, failure: @Sendable @escaping (Identities.Failure) -> Failure
    ) async throws(Failure) where Identities.Element == Identity {
        do {
            let iterator = identities.makeAsyncIterator()
            // A separate task, because a body's error must cancel the wait for the next identity. The end of this scope
            // cancels it and waits for it.
            async let _ = latest.receive(from: iterator, failure: failure)
            // Also a separate task, so that changing bodies needs no turns of the caller's actor.
            await withDiscardingTaskGroup { group in
                addTask(to: &group) { await runAll() }
            }
        }
        if let failure = latest.failure { throw failure }
    }

    private func runAll() async {
        while let identity = await latest.next() {
            await withDiscardingTaskGroup { group in
                addTask(to: &group) { await run(for: identity) }
                if await latest.mustCancelBody() {
                    group.cancelAll()
                }
            }
        }
    }

    private func run(for identity: Identity) async {
        do throws(Failure) {
            try await body(identity)
        } catch {
            latest.bodyFailed(error)
        }
    }

    private func addTask(
        to group: inout DiscardingTaskGroup, _ operation: sending @escaping @isolated(any) () async -> Void
    ) {
        // `executorPreference: nil` would mean no preference at all, not even the caller's.
        if let executorPreference {
            group.addTask(name: name, executorPreference: executorPreference, priority: priority, operation: operation)
        } else {
            group.addTask(name: name, priority: priority, operation: operation)
        }
    }
}
