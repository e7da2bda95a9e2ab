// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import Synchronization
import TestSupport

struct LoadFailure: Error, Equatable {
    var number: Int
}

/// Numbered loads that log their events and end when the test says so, and the callers that wait for them.
final class Loads: Sendable {
    let executor = StepExecutor()
    let log = Log<String>()
    private let results = Mutex<[Int: Result<String, LoadFailure>]>([:])
    private let gates = [1: Gate(), 2: Gate(), 3: Gate()]
    private let lastNumber = Atomic(0)

    /// The body of each load; it logs its cancellation, but does not end because of it.
    @Sendable func load() async throws(LoadFailure) -> String {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        log.append("load \(number) begins")
        await withTaskCancellationHandler {
            await gates[number]?.pass()
        } onCancel: {
            log.append("load \(number) cancelled")
        }
        log.append("load \(number) ends")
        return try results.withLock { $0[number] ?? .success("value \(number)") }.get()
    }

    /// Lets a load end.
    func end(_ number: Int, failing: Bool = false) {
        if failing {
            results.withLock { $0[number] = .failure(LoadFailure(number: number)) }
        }
        gates[number]?.open()
        executor.run()
    }

    /// A task that waits for the value.
    func caller(_ load: @escaping @Sendable () async throws -> String) -> Task<String, any Error> {
        Task(executorPreference: executor) { try await load() }
    }
}

extension Task<String, any Error> {
    /// Its value or error, as text.
    var outcome: String {
        get async {
            do {
                return try await value
            } catch is CancellationError {
                return "cancelled"
            } catch let failure as LoadFailure {
                return "failure \(failure.number)"
            } catch {
                return "another error"
            }
        }
    }
}
