// SPDX-License-Identifier: Apache-2.0

/// A first load that runs exactly once, however many ask for it at the same moment.
///
/// ```swift
/// let first = LoadOnce { try await server.load() }
/// let value = try await first.load()      // loads, or joins the load that runs, or has the value at once
/// ```
/// Until it has succeeded it is a ``SharedLoad``:
/// - Who asks while it runs joins it. A caller leaves by being cancelled, which the others do not notice.
/// - When the last caller leaves, the load is cancelled and what it still brings is thrown away; the next call begins it
///   afresh, once the cancelled one has ended.
/// - If the load throws, all who wait get the error. It is not kept: the next call begins the load afresh.
///
/// Once it has succeeded, the value is kept as long as this object, and the closure is never run again.
public final class LoadOnce<Value: Sendable>: Sendable {
    private let storage: SharedLoadStorage<Value>

    /// Makes a load that begins with the first call of ``load()``.
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
            keepsValue: true)
    }

    /// Returns the value, which is loaded if it has not been.
    ///
    /// - Throws: What the load throws; `CancellationError` if the caller's task is cancelled before the value is there, at
    ///   once. A value that has been loaded is returned to a cancelled task too.
    public func load() async throws -> Value {
        try await storage.load()
    }

    /// Lets all who wait go with a `CancellationError`, and cancels the load; the next to ask begins it afresh.
    ///
    /// A value that has been loaded stays.
    public func cancel() {
        storage.cancel()
    }

    /// The value, if it has been loaded.
    public var value: Value? {
        storage.value
    }

    /// Whether somebody waits for the load at this moment.
    public var isLoading: Bool {
        storage.callers > 0
    }

    /// How many callers wait at this moment.
    public var callers: Int {
        storage.callers
    }
}
