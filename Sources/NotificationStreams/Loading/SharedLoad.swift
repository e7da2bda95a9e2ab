// SPDX-License-Identifier: Apache-2.0

/// A load that callers share: who asks while it runs joins it, each may leave, and the last to leave cancels it.
///
/// ```swift
/// let check = SharedLoad { try await runCheck() }
/// let refresh = RefreshAction { _ = try? await check.load() }
/// ```
/// A caller leaves by being cancelled: its call then throws `CancellationError` at once, and the others notice nothing.
/// When the last one leaves, the load is cancelled and what it still brings is thrown away. Two loads never overlap: who
/// asks while a cancelled load has not ended yet waits for its end, and then for a load of its own.
///
/// If the load throws, all who wait for it get the error, and the next to ask begins another.
///
/// The load belongs to no caller, so it runs in a detached task: it takes neither priority nor task-local values from whoever
/// happened to come first. It has no time limit; a closure that needs one brings it along.
public final class SharedLoad<Value: Sendable>: Sendable {
    private let storage: SharedLoadStorage<Value>

    /// Makes a shared load, which begins with the first call of ``load()``.
    ///
    /// - Parameters:
    ///   - name: The name of the task that loads, for debuggers; the call site's file and line if `nil`.
    ///   - executorPreference: The executor that task prefers; else it runs on the concurrent one.
    ///   - priority: The priority of that task; the default one if `nil`.
    ///   - file: The file for the default name.
    ///   - line: The line for the default name.
    ///   - load: What to run. It should end soon when its task is cancelled.
    public init(
        name: String? = nil,
        executorPreference: (any TaskExecutor)? = nil,
        priority: TaskPriority? = nil,
        file: String = #fileID,
        line: Int = #line,
        _ load: @escaping @Sendable () async throws -> Value
    ) {
        storage = SharedLoadStorage(
            Loader(
                name: name ?? "\(file):\(line)", executorPreference: executorPreference, priority: priority, load: load),
            keepsValue: false)
    }

    /// Joins the load that runs, or begins one, and waits for its end.
    ///
    /// - Throws: What the load throws; `CancellationError` if the caller's task is cancelled, at once.
    public func load() async throws -> Value {
        try await storage.load()
    }

    /// Lets all who wait go with a `CancellationError`, and cancels the load; the next to ask begins another.
    public func cancel() {
        storage.cancel()
    }

    /// Whether somebody waits for a load at this moment.
    public var isLoading: Bool {
        storage.callers > 0
    }

    /// How many callers wait at this moment.
    public var callers: Int {
        storage.callers
    }
}
