// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusWorkers
import Varlink

/// A process that makes HTTP requests, one after another, for the daemon at the other end of its standard input.
///
/// A server can only disturb this process and this request through libcurl or the TLS library: memory and processor
/// time are limited, and the daemon ends the process if it takes too long. It ends when the connection does.
public enum HTTPWorker {
    /// The bytes of address space that it may use in addition.
    private static let memoryLimit = 256 << 20
    /// The processor time that a request may use.
    private static let processorLimit = Duration.seconds(5)
    /// How long after its timeout a request is ended, if libcurl has not done so: libcurl checks the time only when it
    /// waits.
    private static let grace = Duration.milliseconds(500)

    /// Runs in this process until the end.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        serve()
        // A thread that looks up a name may still run.
        _exit(0)
    }

    private static func serve() {
        var calls = WorkerCalls<HTTPRequest>()
        do throws(HTTPFailure) {
            if let failure = MemoryLimit.set(beside: memoryLimit) { throw HTTPFailure(reason: failure) }
            let client = try HTTPClient()
            guard calls.greet() else { return }
            while let request = calls.wait() {
                limitTime(of: request)
                let outcome = client.perform(request)
                TimeLimit.end()
                // A resolver that has not answered keeps its thread, so such threads would accumulate.
                guard calls.answer(outcome), isSingleThreaded else { return }
            }
        } catch {
            _ = calls.greet(WorkerGreeting(refusal: error.reason))
        }
    }

    /// A directory has two links, and one for each directory in it (proc(5)).
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
