// SPDX-License-Identifier: Apache-2.0

/// Runs a body for the newest identity of a sequence: begun, cancelled and begun again as the identity changes.
///
/// This is SwiftUI's `task(id:)` as a function: where a view has a value that changes, this has an asynchronous sequence of
/// the values.
/// ```swift
/// await forLatest(of: selections) { server in
///     for await notification in NotificationCenter.default.notifications(named: .didUpdateStatus, object: server) {
///         show(notification)
///     }
/// }
/// ```
/// What holds:
/// - **An equal identity changes nothing.** It is compared with the newest one received before it. Also after the body ended
///   by itself an equal identity does not begin it again, as in SwiftUI; the next different one does.
/// - **One body at a time.** Another identity cancels the running body and *waits for its end* before the next body
///   begins. SwiftUI does not wait; here a body may rely on being the only one.
/// - **The newest wins.** Identities are received while bodies run and while they end. The one that begins is the newest
///   received when the body before it has ended; those that were superseded until then never begin. An identity that is
///   superseded after that has begun already, and finds itself cancelled. So of A, B, A, where B came while A was
///   running and A again while A was still ending, B never begins, and A begins again: it had been cancelled.
/// - **When the sequence ends**, nothing supersedes the last body any more, so it is let finish, and a last identity
///   that has not begun yet is begun. A sequence of one identity thereby is a plain call of the body. Who wants the end of
///   the sequence to end the body cancels the task that called this.
/// - **When the calling task is cancelled**, the body is cancelled and waited for, and no other begins. The sequence must
///   end its wait for an element when its task is cancelled, as asynchronous sequences do.
///
/// Each body is the only child of a task group of its own: it inherits the caller's task-local values, and has ended when
/// this function returns. The sequence is read on the caller's actor. The body runs on the executor that is preferred,
/// else on the one the caller's task prefers, else on the concurrent one; a body that is isolated to an actor goes there.
///
/// - Parameters:
///   - identities: The identities; the body runs for the newest.
///   - name: The name of the body's tasks, for debuggers; the call site's file and line if `nil`.
///   - executorPreference: The executor the body's tasks prefer.
///   - priority: The priority of the body's tasks; the caller's if `nil`.
///   - file: The file for the default name.
///   - line: The line for the default name.
///   - body: What to do for an identity. It should end soon when its task is cancelled.
public func forLatest<Identities: AsyncSequence>(
    of identities: Identities,
    name: String? = nil,
    executorPreference: (any TaskExecutor)? = nil,
    priority: TaskPriority? = nil,
    file: String = #fileID,
    line: Int = #line,
    _ body: @escaping @Sendable (Identities.Element) async -> Void
) async where Identities.Element: Equatable & Sendable, Identities.Failure == Never {
    let name = name ?? "\(file):\(line)"
    let latest = LatestIdentity<Identities.Element>()
    await withDiscardingTaskGroup { group in
        group.addTask(name: name, preferring: executorPreference, priority: priority) {
            while let identity = await latest.next() {
                await withDiscardingTaskGroup { group in
                    group.addTask(name: name, preferring: executorPreference, priority: priority) {
                        await body(identity)
                    }
                    if await latest.isSuperseded() {
                        group.cancelAll()
                    }
                }
            }
        }
        var iterator = identities.makeAsyncIterator()
        while !Task.isCancelled, let identity = await iterator.next(isolation: #isolation) {
            latest.receive(identity)
        }
        latest.finish()
    }
}

extension DiscardingTaskGroup {
    /// Adds a child that prefers an executor, or if `nil` the one its parent prefers.
    ///
    /// The library's `addTask(executorPreference: nil)` means no preference at all, not even the parent's.
    fileprivate mutating func addTask(
        name: String, preferring executor: (any TaskExecutor)?, priority: TaskPriority?,
        operation: sending @escaping @isolated(any) () async -> Void
    ) {
        if let executor {
            addTask(name: name, executorPreference: executor, priority: priority, operation: operation)
        } else {
            addTask(name: name, priority: priority, operation: operation)
        }
    }
}
