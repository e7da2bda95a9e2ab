// SPDX-License-Identifier: Apache-2.0

/// Decides when a shared load begins, which callers get its result, and when it is cancelled; performs no effects.
struct SharedLoadStateMachine<Value: Sendable, Failure: Error>: ~Copyable {
    /// Resumed with the result, or with `nil` to be released without one.
    typealias Caller = CheckedContinuation<Result<Value, Failure>?, Never>
    /// Identifies a caller, and the load that was begun for it.
    typealias ID = Int

    /// A load that has not ended.
    private struct Load {
        let id: ID
        /// `nil` until the task is known, soon after the load has begun.
        var task: Task<Void, Never>?
        /// The callers that wait for this load, or if it is cancelled, for the next one.
        ///
        /// A load that is not cancelled has at least one.
        var callers: [ID: Caller]
        var isCancelled = false

        /// Marks the load as cancelled; returns the task to cancel, if it is known and not cancelled yet.
        mutating func cancel() -> Task<Void, Never>? {
            defer { isCancelled = true }
            return isCancelled ? nil : task
        }
    }

    private enum State: ~Copyable {
        case idle
        case loading(Load)
        /// A value has been loaded, and is kept.
        case loaded(Value)
    }

    private var state: State

    init() { self.init(.idle) }

    private init(_ state: consuming State) { self.state = state }

    /// The value that is kept.
    var value: Value? {
        switch state {
        case .loaded(let value): value
        default: nil
        }
    }

    /// The number of callers that are waiting.
    var callers: Int {
        switch state {
        case .loading(let load): load.callers.count
        default: 0
        }
    }

    /// What to do outside the lock.
    enum Action {
        case none
        /// Begin a load; report it with `began` and `ended`.
        case begin(ID)
        /// Cancel a task, if any, and resume callers.
        case resume([Caller], with: Result<Value, Failure>?, cancelling: Task<Void, Never>? = nil)
    }

    /// A caller waits for the value.
    mutating func joined(_ id: ID, _ caller: Caller, isCancelled: Bool) -> Action {
        guard !isCancelled else { return .resume([caller], with: nil) }
        switch consume state {
        case .idle:
            self = Self(.loading(Load(id: id, callers: [id: caller])))
            return .begin(id)
        case .loading(var load):
            load.callers[id] = caller
            self = Self(.loading(load))
            return .none
        case .loaded(let value):
            // It was loaded after the caller had checked for it.
            self = Self(.loaded(value))
            return .resume([caller], with: .success(value))
        }
    }

    /// A caller's task was cancelled.
    ///
    /// The caller is unknown if it has not joined yet, and will be released then, or if it already has its result.
    mutating func left(_ id: ID) -> Action {
        change { load in
            let caller = load.callers.removeValue(forKey: id)
            let task = load.callers.isEmpty ? load.cancel() : nil
            return .resume(caller.map { [$0] } ?? [], with: nil, cancelling: task)
        }
    }

    /// All callers are released.
    mutating func cancelled() -> Action {
        change { load in
            let callers = Array(load.callers.values)
            load.callers = [:]
            return .resume(callers, with: nil, cancelling: load.cancel())
        }
    }

    /// The task of a load is known; the load may have been cancelled, or have ended, before.
    mutating func began(_ id: ID, as task: Task<Void, Never>) -> Action {
        change { load in
            guard load.id == id else { return .none }
            load.task = task
            return load.isCancelled ? .resume([], with: nil, cancelling: task) : .none
        }
    }

    /// The load has ended; its value is kept if `keepsValue`.
    mutating func ended(with result: Result<Value, Failure>, keepsValue: Bool) -> Action {
        guard case .loading(let load) = consume state else { fatalError("a shared load ended that had not begun") }
        guard load.isCancelled else {
            if keepsValue, case .success(let value) = result {
                self = Self(.loaded(value))
            } else {
                self = Self(.idle)
            }
            return .resume(Array(load.callers.values), with: result)
        }
        // The result of a cancelled load may be incomplete. Callers that have joined since wait for the next load.
        guard let id = load.callers.keys.min() else {
            self = Self(.idle)
            return .none
        }
        self = Self(.loading(Load(id: id, callers: load.callers)))
        return .begin(id)
    }

    /// Changes the load that has not ended, if any.
    private mutating func change(_ change: (inout Load) -> Action) -> Action {
        switch consume state {
        case .idle:
            self = Self(.idle)
            return .none
        case .loading(var load):
            let action = change(&load)
            self = Self(.loading(load))
            return action
        case .loaded(let value):
            self = Self(.loaded(value))
            return .none
        }
    }
}
