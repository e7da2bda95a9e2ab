// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Varlink

/// A process that makes HTTP requests for the daemon, which is connected to its standard input.
///
/// It isolates libcurl and the TLS library: a hostile server can disturb only the current request. Memory and processor
/// time are limited, and the daemon ends the process if it takes too long. The process exits when the connection is
/// closed.
public enum HTTPWorker {
    /// The additional address space that the process may use, in bytes.
    private static let memoryLimit = 256 << 20
    /// The maximum processor time of a request.
    private static let processorLimit = Duration.seconds(5)
    /// The time after its timeout when a request is ended, because libcurl checks the time only while it waits.
    private static let grace = Duration.milliseconds(500)

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
                limitTime(of: request)
                let outcome = client.perform(request)
                TimeLimit.end()
                // Threads of unanswered lookups would accumulate.
                guard calls.answer(outcome), isSingleThreaded else { return }
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

    private static func limitTime(of request: HTTPRequest) {
        let seconds = processorLimit.components.seconds
        TimeLimit.begin(
            request.timeout + grace, .unexpected(reason: HTTPTransfer.noAnswer(within: request.timeout)),
            processorTime: processorLimit,
            .unexpected(reason: "reading the response takes more than \(seconds) s of processor time"))
    }
}
