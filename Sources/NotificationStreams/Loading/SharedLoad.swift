// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A load that concurrent callers share (single-flight), and that is cancelled when its last caller leaves.
///
/// ```swift
/// let first = SharedLoad(keepsValue: true) { try await fetch() }
/// let again = SharedLoad { try await fetch() }
/// let refresh = RefreshAction { _ = try? await again.load() }
/// ```
/// - A call made while a load is running shares it: both get its value or its error. A call made after it has ended
///   begins another load.
/// - A caller leaves when its task is cancelled. Its call then throws `CancellationError` at once, and the other
///   callers notice nothing.
/// - When the last caller leaves, the load is cancelled and its result is discarded. Loads never overlap: a call made
///   while a cancelled load is still ending waits for its end, and then for another load.
/// - With `keepsValue`, the first load that succeeds is the last. Its value is kept as long as this object, and every
///   later call gets it. Errors are not kept.
///
/// The load belongs to no single caller, so it runs in a detached task and inherits neither a priority nor task-local
/// values. It has no timeout; a closure that needs a timeout must implement it.
public final class SharedLoad<Value: Sendable, Failure: Error>: Sendable {
    private typealias Machine = SharedLoadStateMachine<Value, Failure>

    private let name: String
    private let executorPreference: (any TaskExecutor)?
    private let priority: TaskPriority?
    private let keepsValue: Bool
    private let closure: @Sendable () async throws(Failure) -> Value
    private let lastID = Atomic(0)
    private let machine = Mutex(SharedLoadStateMachine<Value, Failure>())

    /// Creates a shared load, which begins with the first call of `load()` or `result()`.
    ///
    /// - Parameters:
    ///   - name: The name of the load's task, for debuggers; the call site's file and line if `nil`.
    ///   - executorPreference: The executor that this task prefers; the global concurrent executor if `nil`.
    ///   - priority: The priority of this task; the default one if `nil`.
    ///   - keepsValue: Whether to keep the first value and never load again.
    ///   - file: The file for the default name.
    ///   - line: The line for the default name.
    ///   - load: The load. It should end soon after its task is cancelled. To keep the type of its errors, write the
    ///     type in the closure, as in `{ () throws(Disconnected) in … }`: Swift infers `any Error` otherwise.
    public init(
        name: String? = nil,
        executorPreference: (any TaskExecutor)? = nil,
        priority: TaskPriority? = nil,
        keepsValue: Bool = false,
        file: String = #fileID,
        line: Int = #line,
        _ load: @escaping @Sendable () async throws(Failure) -> Value
    ) {
        self.name = name ?? "\(file):\(line)"
        self.executorPreference = executorPreference
        self.priority = priority
        self.keepsValue = keepsValue
        self.closure = load
    }

    /// Shares the running load, or begins one, and returns its value.
    ///
    /// - Throws: The error of the load or of ``result()``, which separates the two.
    public func load() async throws -> Value { try await result().get() }

    /// Shares the running load, or begins one, and returns its value or its error.
    ///
    /// - Throws: `CancellationError` as soon as the caller's task is cancelled or ``cancel()`` is called. A value that
    ///   is already kept is returned even to a cancelled task.
    public func result() async throws(CancellationError) -> Result<Value, Failure> {
        if let value { return .success(value) }
        let id = lastID.add(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                // Cancellation is checked under the lock. If the task is not cancelled, the handler below runs later
                // and finds the caller. If it is, the handler may have run already, without finding it.
                perform { $0.joined(id, caller, isCancelled: Task.isCancelled) }
            }
        } onCancel: {
            perform { $0.left(id) }
        }
        guard let result else { throw CancellationError() }
        return result
    }

    /// Cancels the running load and releases its callers with a `CancellationError`.
    ///
    /// The next call begins another load once the cancelled one has ended. A kept value stays.
    public func cancel() { perform { $0.cancelled() } }

    /// The value, if one is kept.
    public var value: Value? { machine.withLock { $0.value } }

    /// Whether a caller is waiting.
    public var isLoading: Bool { callers > 0 }

    /// The number of callers that are waiting.
    public var callers: Int { machine.withLock { $0.callers } }

    private func perform(_ event: (inout Machine) -> Machine.Action) {
        switch machine.withLock({ event(&$0) }) {
        case .none: break
        case .begin(let id): begin(id)
        case .resume(let callers, let result, let task):
            task?.cancel()
            for caller in callers {
                caller.resume(returning: result)
            }
        }
    }

    private func begin(_ id: Machine.ID) {
        // Unstructured, because the caller that begins it may leave before it ends. It does not continue without
        // callers: the last caller to leave cancels it.
        let task = Task.detached(name: name, executorPreference: executorPreference, priority: priority) { [self] in
            let result: Result<Value, Failure>
            do throws(Failure) {
                result = .success(try await closure())
            } catch {
                result = .failure(error)
            }
            perform { $0.ended(with: result, keepsValue: keepsValue) }
        }
        perform { $0.began(id, as: task) }
    }
}

extension SharedLoad where Failure == Never {
    /// Shares the running load, or begins one, and returns its value.
    ///
    /// - Throws: The error of ``result()``; the load itself cannot fail.
    public func load() async throws(CancellationError) -> Value { try await result().get() }
}
