// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A child process, held by a descriptor: after it has ended, its number may belong to another process (pidfd_open(2)).
public final class ChildProcess: Sendable {
    private let descriptor: OwnedDescriptor

    /// Refers to a child that has just been started; nil if there is no descriptor for it.
    public init?(_ process: Int32) {
        let descriptor = linux_open_process(process)
        guard descriptor >= 0 else { return nil }
        self.descriptor = OwnedDescriptor(adopting: descriptor)
    }

    /// Kills the process if it has not ended.
    public func kill() { _ = linux_signal_process(descriptor.rawValue, SIGKILL) }
}
