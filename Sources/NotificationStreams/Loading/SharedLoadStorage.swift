// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a load is, and where it runs.
struct Loader<Value: Sendable>: Sendable {
    let name: String
    let executorPreference: (any TaskExecutor)?
    let priority: TaskPriority?
    let load: @Sendable () async throws -> Value
}

/// The machinery under ``SharedLoad`` and ``LoadOnce``: does what its state machine decides.
final class SharedLoadStorage<Value: Sendable>: Sendable {
    private typealias Machine = SharedLoadStateMachine<Value>

    private let loader: Loader<Value>
    private let keepsValue: Bool
    private let lastID = Atomic(0)
    private let machine = Mutex(SharedLoadStateMachine<Value>())

    init(_ loader: Loader<Value>, keepsValue: Bool) {
        self.loader = loader
        self.keepsValue = keepsValue
    }

    var value: Value? {
        machine.withLock { $0.value }
    }

    var callers: Int {
        machine.withLock { $0.callers }
    }

    func load() async throws -> Value {
        if let value { return value }
        let id = lastID.add(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { caller in
                // Whether the task is cancelled is asked under the lock: if it is not, the handler below has yet to run, and
                // will find the caller; if it is, the handler may have run already, and found nobody.
                perform(machine.withLock { $0.join(id, caller, isCancelled: Task.isCancelled) })
            }
        } onCancel: {
            perform(machine.withLock { $0.leave(id) })
        }
    }

    func cancel() {
        perform(machine.withLock { $0.cancel() })
    }

    private func perform(_ action: Machine.Action) {
        switch action {
        case .none:
            break
        case .begin(let id):
            begin(id)
        case .deliver(let result, let callers):
            for caller in callers {
                caller.resume(with: result)
            }
        case .release(let callers, let task):
            task?.cancel()
            for caller in callers {
                caller.resume(throwing: CancellationError())
            }
        }
    }

    private func begin(_ id: Machine.ID) {
        // Not a child of the caller for whom it is begun, who may leave before its end. What keeps it from going on unwanted
        // is that the last caller to leave cancels it.
        let task = Task.detached(
            name: loader.name, executorPreference: loader.executorPreference, priority: loader.priority
        ) { [self] in
            let result: Result<Value, any Error>
            do {
                result = .success(try await loader.load())
            } catch {
                result = .failure(error)
            }
            perform(machine.withLock { $0.ended(with: result, keepsValue: keepsValue) })
        }
        perform(machine.withLock { $0.began(id, as: task) })
    }
}
