// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusWorkers
import Varlink

/// A process that makes HTTP requests for the daemon at the other end of its standard input, one after another.
///
/// What a server can do to libcurl, or to the TLS library, it does to this process and this request alone: for both memory and processor time there are
/// bounds, and the daemon ends it if it takes too long. When the connection ends, it ends.
public enum HTTPWorker {
    /// How many bytes of address space it may take beside what it begins with.
    private static let memoryLimit = 256 << 20
    /// How much processor time a request may take.
    private static let processorLimit = Duration.seconds(5)
    /// How long after its time a request is ended if libcurl has not done so: it looks at the time only where it has to wait.
    private static let grace = Duration.milliseconds(500)

    /// Runs in this process until the end.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        serve()
        // A thread that looks up a name may be left.
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
                // A resolver that still has not answered keeps its thread, and this process would have ever more of them.
                guard calls.answer(outcome), isSingleThreaded else { return }
            }
        } catch {
            _ = calls.greet(WorkerGreeting(refusal: error.reason))
        }
    }

    /// A directory has as many links as directories in it, and two (proc(5)).
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
