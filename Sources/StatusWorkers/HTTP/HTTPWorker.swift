// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A process that makes HTTP requests for the daemon, which is connected to its standard input.
///
/// It isolates libcurl and the TLS library: a hostile server can disturb only the current request. Memory and processor
/// time are limited, and the daemon ends the process if a request takes too long. The process exits when the connection
/// is closed.
public enum HTTPWorker {
    /// The additional address space that the process may use, in bytes.
    private static let memoryLimit = 256 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        serve()
        // A thread that looks up a name may still be running.
        _exit(0)
    }

    private static func serve() {
        var calls = WorkerCalls<HTTPRequest>()
        do throws(HTTPFailure) {
            if let failure = MemoryLimit.set(additional: memoryLimit) { throw HTTPFailure(reason: failure) }
            let client = try HTTPClient()
            guard calls.greet() else { return }
            while let request = calls.wait() {
                limitProcessorTime()
                // Threads of unanswered lookups would accumulate.
                guard calls.answer(client.perform(request)), isSingleThreaded else { return }
            }
        } catch {
            _ = calls.greet(WorkerGreeting(refusal: error.reason))
        }
    }

    /// Whether this process has one thread: /proc/self/task has two links, and one more for each thread.
    private static var isSingleThreaded: Bool {
        var status = stat()
        return stat("/proc/self/task", &status) == 0 && status.st_nlink == 3
    }

    /// Makes the kernel end this process if a library does not return while it uses processor time (setrlimit(2)).
    private static func limitProcessorTime() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
        let end = HTTPClient.processorTime + HTTPClient.processorLimit + .seconds(1)
        limit.rlim_cur = min(limit.rlim_max, rlim_t(end.components.seconds + 1))
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
    }
}
