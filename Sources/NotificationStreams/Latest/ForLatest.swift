// SPDX-License-Identifier: Apache-2.0

/// Runs a body for the newest identity of a sequence, and cancels it when a different identity arrives.
///
/// This is SwiftUI's `task(id:)` as a function. The identities come from an asynchronous sequence instead of a view's
/// value.
/// ```swift
/// await forLatest(of: selections) { server in
///     for await update in NotificationBus.default.notifications(named: .didUpdateStatus, object: server) {
///         show(update.status)
///     }
/// }
/// ```
/// - **An equal identity changes nothing.** Each identity is compared with the previous one. As in SwiftUI,
///   an equal identity does not restart a body that has returned; the next different one does.
/// - **Only one body runs at a time.** A different identity cancels the running body, and the next body begins only
///   after that one has ended. SwiftUI does not wait; here a body can rely on being the only one that runs.
/// - **The newest identity wins.** Identities are received while a body runs and while it ends. Those that are
///   superseded before it has ended are skipped. For example, if B arrives while A runs, and A again while the first
///   body is still ending, then B never begins, and A begins again because it was cancelled.
/// - **When the sequence ends**, the last body runs to its end. An identity that is still waiting for its turn gets its
///   body. To end the body together with the sequence, cancel the calling task.
/// - **When the calling task is cancelled**, the body is cancelled and waited for, and no other body begins. The call
///   then returns normally, unless the body or the sequence throws, usually a `CancellationError`: the caller gets the
///   first such error.
///
/// The first error ends the call:
/// - **If a body throws while the sequence waits**, that wait is cancelled. The error is thrown when the wait has
///   ended.
/// - **If the sequence throws while a body runs**, the body is cancelled. The error is thrown when the body has ended.
///   An identity that is still waiting for its turn does not get a body.
/// - **If a body throws after it was superseded**, its error is ignored, whatever it is, and the next body begins. A
///   cancelled body may therefore end by throwing `CancellationError` or an error that means the same. A body is
///   superseded as soon as a different identity has been received.
/// - A `CancellationError` that a body throws for any other reason is an error like any other.
///
/// Each body runs in a child task, so it inherits the caller's task-local values. It runs on the preferred executor,
/// otherwise on the executor that the caller's task prefers, otherwise on the global concurrent executor. A body that
/// is isolated to an actor runs on that actor. The sequence is read in another child task, which needs no turns of the
/// caller's actor. Its wait must end when the task is cancelled, as with asynchronous sequences in general.
///
/// - Parameters:
///   - identities: The identities. The iterator is made before the call first suspends.
///   - name: The name of the bodies' tasks, for debuggers; the call site's file and line if `nil`.
///   - executorPreference: The executor that the bodies' tasks prefer.
///   - priority: The priority of the bodies' tasks; the caller's if `nil`.
///   - file: The file for the default name.
///   - line: The line for the default name.
///   - body: Called with an identity. It should end soon after its task is cancelled. To keep the type of its errors,
///     write the type in the closure, as in `{ server throws(Disconnected) in … }`: Swift infers `any Error`
///     otherwise.
/// - Throws: The errors of the body; nothing if the body cannot throw.
public func forLatest<Identities: AsyncSequence, Failure: Error>(
    of identities: sending Identities,
    name: String? = nil,
    executorPreference: (any TaskExecutor)? = nil,
    priority: TaskPriority? = nil,
    file: String = #fileID,
    line: Int = #line,
    _ body: @escaping @Sendable (Identities.Element) async throws(Failure) -> Void
) async throws(Failure) where Identities.Element: Equatable & Sendable, Identities.Failure == Never {
    let runner = BodyRunner(name ?? "\(file):\(line)", executorPreference, priority, body)
    try await runner.run(for: identities) { (_: Never) -> Failure in }
}

/// Runs a body for the newest identity of a sequence that can fail.
///
/// The parameters and rules are the same as for ``forLatest(of:name:executorPreference:priority:file:line:_:)-2ssyd``.
///
/// - Throws: The first error of the sequence or of a body. Its static type is `any Error`, because their types may
///   differ.
public func forLatest<Identities: AsyncSequence>(
    of identities: sending Identities,
    name: String? = nil,
    executorPreference: (any TaskExecutor)? = nil,
    priority: TaskPriority? = nil,
    file: String = #fileID,
    line: Int = #line,
    _ body: @escaping @Sendable (Identities.Element) async throws -> Void
) async throws where Identities.Element: Equatable & Sendable {
    let runner = BodyRunner(name ?? "\(file):\(line)", executorPreference, priority, body)
    try await runner.run(for: identities) { $0 }
}
