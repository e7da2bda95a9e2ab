// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What is between the loop that receives identities and the loop that runs bodies for them.
///
/// Only the newest identity waits here; there is one loop on either side.
final class LatestIdentity<Identity: Equatable & Sendable>: Sendable {
    private let machine = Mutex(LatestIdentityStateMachine<Identity>())

    /// Takes an identity in; an equal one is ignored, and one that waits is superseded.
    func receive(_ identity: Identity) {
        machine.withLock { $0.received(identity) }?.resume()
    }

    /// Says that no more identities will come; one that waits is still handed out.
    func finish() {
        machine.withLock { $0.finished() }?.resume()
    }

    /// Waits for an identity that is newer than the one handed out last, and takes it; `nil` when there will be none, and
    /// when the task is cancelled.
    func next() async -> Identity? {
        await change()
        return machine.withLock { $0.take() }
    }

    /// Waits until it is known whether the identity handed out last is superseded: `true` as soon as a newer one has come,
    /// `false` when none will come.
    func isSuperseded() async -> Bool {
        await change()
        return machine.withLock { $0.hasPending }
    }

    /// Waits until an identity is there to be taken, or none will come, or the task is cancelled.
    private func change() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { runner in
                machine.withLock { $0.wait(runner) }?.resume()
            }
        } onCancel: {
            // Nothing that comes after a cancelling is to begin, so it ends the identities for good.
            machine.withLock { $0.cancelled() }?.resume()
        }
    }
}
