// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Passes the newest identity from the task that receives identities to the task that runs bodies for them.
final class LatestIdentity<Identity: Equatable & Sendable, Failure: Error>: Sendable {
    private let machine = Mutex(LatestIdentityStateMachine<Identity, Failure>())

    /// Receives identities until they end, fail, or the task is cancelled.
    func receive<Iterator: AsyncIteratorProtocol>(
        from iterator: sending Iterator, failure: (Iterator.Failure) -> Failure
    ) async where Iterator.Element == Identity {
        var iterator = iterator
        do throws(Iterator.Failure) {
            while !Task.isCancelled, let identity = try await iterator.next(isolation: #isolation) {
                machine.withLock { $0.received(identity) }?.resume()
            }
            machine.withLock { $0.finished() }?.resume()
        } catch {
            let failure = failure(error)
            machine.withLock { $0.failed(failure) }?.resume()
        }
    }

    /// Waits for an identity that has not been taken, and takes it; `nil` if none will come, or the task is cancelled.
    func next() async -> Identity? {
        await change()
        return machine.withLock { $0.take() }
    }

    /// Waits until it is certain whether the body of the identity taken last must be cancelled.
    ///
    /// It must be cancelled if a newer identity arrives or an error occurs, but not if no more identities will come.
    func mustCancelBody() async -> Bool {
        await change()
        return machine.withLock { $0.mustCancelBody }
    }

    /// Records a body's error, which ends the call unless the body was superseded.
    func bodyFailed(_ error: Failure) { machine.withLock { $0.bodyFailed(error) }?.resume() }

    /// The first error.
    var failure: Failure? { machine.withLock { $0.failure } }

    /// Waits until an identity can be taken, or none will come, or the task is cancelled.
    private func change() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { runner in
                machine.withLock { $0.wait(runner) }?.resume()
            }
        } onCancel: {
            // No body may begin after this, so it ends the identities.
            machine.withLock { $0.cancelled() }?.resume()
        }
    }
}
