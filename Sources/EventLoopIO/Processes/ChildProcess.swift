// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A child of this process, which nobody waits for, by a descriptor: its number may become another process's when it has ended (pidfd_open(2)).
public final class ChildProcess: Sendable {
    private let descriptor: OwnedDescriptor

    /// A child that has just been started; nil if there is no descriptor for it.
    public init?(_ process: Int32) {
        let descriptor = linux_open_process(process)
        guard descriptor >= 0 else { return nil }
        self.descriptor = OwnedDescriptor(adopting: descriptor)
    }

    /// Ends it at once, if it has not ended.
    public func kill() { _ = linux_signal_process(descriptor.rawValue, SIGKILL) }
}
