// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusStore
import Synchronization

/// Keeps other daemons from using the directory of the state, as long as it is referenced.
///
/// Its functions block.
final class StateLock: Sendable {
    private let directory: String
    private let lock = Mutex<FileLock?>(nil)

    init(of directory: String) { self.directory = directory }

    /// Takes the lock, also if its file was removed in between; does nothing if it has the lock.
    ///
    /// On a disk that is full or read-only there may be no lock.
    ///
    /// - Throws: ``StoreFailure`` if another daemon has it.
    func claim() throws(StoreFailure) {
        let isTaken = lock.withLock { lock in
            if let lock, lock.isInPlace { return false }
            do throws(IOError) {
                lock = try FileLock(at: directory + "/statusd.lock")
            } catch {
                return error.code == .addressInUse
            }
            return false
        }
        if isTaken {
            throw StoreFailure(
                "another statusd uses the directory \(directory) (“fuser \(directory)/statusd.lock” shows its process); stop it"
            )
        }
    }
}
