// SPDX-License-Identifier: Apache-2.0

/// Decides when a shared load begins, who gets its result, and when it is cancelled; does nothing itself.
struct SharedLoadStateMachine<Value: Sendable>: ~Copyable {
    typealias Caller = CheckedContinuation<Value, any Error>
    /// Tells callers apart, and loads: a load has the number of the caller for whom it was begun.
    typealias ID = Int

    private enum State: ~Copyable {
        /// No load runs, nobody waits.
        case idle
        /// A load runs, for at least one caller. Its task is known soon after it was begun.
        case loading(ID, Task<Void, Never>?, callers: [ID: Caller])
        /// A cancelled load has not ended yet. Whoever has come since waits for the next one.
        case abandoned(ID, callers: [ID: Caller])
        /// A value was loaded, and is kept.
        case loaded(Value)
    }

    private var state: State

    init() {
        self.init(.idle)
    }

    private init(_ state: consuming State) {
        self.state = state
    }

    /// The value that is kept.
    var value: Value? {
        switch state {
        case .loaded(let value): value
        default: nil
        }
    }

    /// How many wait.
    var callers: Int {
        switch state {
        case .loading(_, _, let callers): callers.count
        case .abandoned(_, let callers): callers.count
        default: 0
        }
    }

    /// What is to be done outside the lock.
    enum Action {
        case none
        /// Begin a load, and tell of it with `began` and `ended`.
        case begin(ID)
        /// Hand a result out.
        case deliver(Result<Value, any Error>, to: [Caller])
        /// Let callers go, and cancel a load, where there is one.
        case release([Caller], cancelling: Task<Void, Never>?)
    }

    /// Somebody waits for the value.
    mutating func join(_ id: ID, _ caller: Caller, isCancelled: Bool) -> Action {
        guard !isCancelled else { return .release([caller], cancelling: nil) }
        switch consume state {
        case .idle:
            self = Self(.loading(id, nil, callers: [id: caller]))
            return .begin(id)
        case .loading(let load, let task, var callers):
            callers[id] = caller
            self = Self(.loading(load, task, callers: callers))
            return .none
        case .abandoned(let load, var callers):
            callers[id] = caller
            self = Self(.abandoned(load, callers: callers))
            return .none
        case .loaded(let value):
            // It was loaded after the caller had looked for it.
            self = Self(.loaded(value))
            return .deliver(.success(value), to: [caller])
        }
    }

    /// A caller's task was cancelled.
    ///
    /// The caller may be unknown: it has not joined yet and will be told then, or it has its result.
    mutating func leave(_ id: ID) -> Action {
        switch consume state {
        case .idle:
            self = Self(.idle)
            return .none
        case .loading(let load, let task, var callers):
            let caller = callers.removeValue(forKey: id)
            guard callers.isEmpty else {
                self = Self(.loading(load, task, callers: callers))
                return .release(caller.map { [$0] } ?? [], cancelling: nil)
            }
            self = Self(.abandoned(load, callers: [:]))
            return .release(caller.map { [$0] } ?? [], cancelling: task)
        case .abandoned(let load, var callers):
            let caller = callers.removeValue(forKey: id)
            self = Self(.abandoned(load, callers: callers))
            return .release(caller.map { [$0] } ?? [], cancelling: nil)
        case .loaded(let value):
            self = Self(.loaded(value))
            return .none
        }
    }

    /// All who wait are to leave.
    mutating func cancel() -> Action {
        switch consume state {
        case .idle:
            self = Self(.idle)
            return .none
        case .loading(let load, let task, let callers):
            self = Self(.abandoned(load, callers: [:]))
            return .release(Array(callers.values), cancelling: task)
        case .abandoned(let load, let callers):
            self = Self(.abandoned(load, callers: [:]))
            return .release(Array(callers.values), cancelling: nil)
        case .loaded(let value):
            self = Self(.loaded(value))
            return .none
        }
    }

    /// A load that was to begin has a task.
    mutating func began(_ id: ID, as task: Task<Void, Never>) -> Action {
        switch consume state {
        case .loading(let load, let known, let callers):
            // Another load, if this one ended, and the next was begun, before this one's task was known.
            self = Self(.loading(load, load == id ? task : known, callers: callers))
            return .none
        case .abandoned(let load, let callers):
            // The last caller left before the task was known.
            self = Self(.abandoned(load, callers: callers))
            return load == id ? .release([], cancelling: task) : .none
        case .idle:
            self = Self(.idle)
            return .none
        case .loaded(let value):
            self = Self(.loaded(value))
            return .none
        }
    }

    /// The load has ended; one that succeeded is kept if `keepsValue`.
    mutating func ended(with result: Result<Value, any Error>, keepsValue: Bool) -> Action {
        switch consume state {
        case .loading(_, _, let callers):
            if keepsValue, case .success(let value) = result {
                self = Self(.loaded(value))
            } else {
                self = Self(.idle)
            }
            return .deliver(result, to: Array(callers.values))
        case .abandoned(_, let callers):
            // What a cancelled load brings may be half a result, and nobody waits for it.
            guard let id = callers.keys.min() else {
                self = Self(.idle)
                return .none
            }
            self = Self(.loading(id, nil, callers: callers))
            return .begin(id)
        default:
            fatalError("a shared load ended that had not begun")
        }
    }
}
