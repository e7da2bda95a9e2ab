// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A process that asks name servers for the daemon, which is connected to its standard input.
///
/// It isolates the library that reads the answers. Memory is limited, and the daemon ends the process if a question
/// takes too long. The process exits when the connection is closed.
public enum DNSWorker {
    /// The additional address space that the process may use, in bytes; a message has at most 64 KiB.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        var calls = WorkerCalls<DNSRequest>()
        let failure = MemoryLimit.set(additional: memoryLimit)
        guard calls.greet(WorkerGreeting(refusal: failure)), failure == nil else { exit(0) }
        while let request = calls.wait(), calls.answer(DNSClient.perform(request)) {}
        exit(0)
    }
}
