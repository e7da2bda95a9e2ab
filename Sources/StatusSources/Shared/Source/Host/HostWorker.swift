// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusWorkers
import Varlink

/// A process that looks at this host for the daemon, which is connected to its standard input.
///
/// It looks once for each call. It may block; the daemon then times out and abandons it.
public enum HostWorker {
    /// The bytes of address space that it may use in addition: a directory may have any number of files.
    private static let memoryLimit = 64 << 20

    /// Runs in this process until the connection ends.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        var calls = WorkerCalls<HostCall>()
        let failure = MemoryLimit.set(beside: memoryLimit)
        guard calls.greet(WorkerGreeting(refusal: failure)), failure == nil else { exit(0) }
        while let call = calls.wait() {
            let result = Result { () throws(CheckFailure) in try call.settings.look() }
            guard calls.answer(HostAnswer(result)) else { break }
        }
        exit(0)
    }
}
