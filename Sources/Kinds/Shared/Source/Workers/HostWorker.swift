// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import StatusWorkers

/// A process that checks this host for the daemon, which is connected to its standard input.
///
/// It runs one check for each call. It may block; the daemon then times out and abandons it.
public enum HostWorker {
    /// The additional address space that the process may use, in bytes; a directory may have any number of files.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        var calls = WorkerCalls<HostCall>()
        let failure = MemoryLimit.set(additional: memoryLimit)
        guard calls.greet(WorkerGreeting(refusal: failure)), failure == nil else { exit(0) }
        while let call = calls.wait() {
            let result = Result { () throws(CheckFailure) in try call.settings.check() }
            guard calls.answer(HostAnswer(result)) else { break }
        }
        exit(0)
    }
}
