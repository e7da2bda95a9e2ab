// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusWorkers
import Varlink

/// A process that makes HTTP requests for the daemon at the other end of its standard input, any number side by side.
///
/// What a server can do to libcurl, or to the TLS library, it does to this process alone: it has a bound for its memory, and one for the time
/// that it is at work without looking up. The daemon notices its end and makes the requests again, each in a process of its own. When the connection
/// ends, it ends.
public enum HTTPWorker {
    /// How many bytes of address space it may take beside what it begins with.
    private static let memoryLimit: rlim_t = 1 << 30
    /// For how many seconds it may be at work, or be kept waiting by a disk, before it looks for what is new.
    private static let turnLimit: UInt32 = 5

    /// Runs in this process until the end.
    public static func run() -> Never {
        // It ends with its connection, and not when a terminal or the service manager ends all processes of the daemon.
        for number in [SIGTERM, SIGINT, SIGHUP, SIGPIPE] { signal(number, SIG_IGN) }
        limitMemory()
        serve()
        // Threads that look up names may be left.
        _exit(0)
    }

    private static func serve() {
        var calls = WorkerCalls<HTTPCall>()
        do throws(HTTPUnavailable) {
            let requests = try HTTPRequests()
            if calls.greet() { serve(&calls, requests) }
        } catch {
            _ = calls.greet(WorkerGreeting(refusal: error.reason))
        }
    }

    private static func serve(_ calls: inout WorkerCalls<HTTPCall>, _ requests: HTTPRequests) {
        repeat {
            // SIGALRM ends it.
            alarm(turnLimit)
            guard begin(&calls, requests) else { return }
            for answer in requests.perform() where !calls.answer(answer) { return }
            alarm(0)
            requests.wait(for: STDIN_FILENO)
        } while calls.read()
    }

    private static func begin(_ calls: inout WorkerCalls<HTTPCall>, _ requests: HTTPRequests) -> Bool {
        do throws(JSONError) {
            while let call = try calls.next() {
                if let request = call.request {
                    requests.start(request, number: call.number)
                } else {
                    requests.stop(number: call.number)
                }
            }
            return true
        } catch {
            return false
        }
    }

    private static func limitMemory() {
        guard let file = fopen("/proc/self/statm", "re") else { return }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return }
        // In pages.
        let size = rlim_t(strtoul(line, nil, 10)) * rlim_t(sysconf(Int32(_SC_PAGESIZE)))
        var limit = rlimit(rlim_cur: size + memoryLimit, rlim_max: size + memoryLimit)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    }
}
