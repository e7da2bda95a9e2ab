// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import StatusWorkers

/// A process that checks this host for the daemon, which is connected to its standard input.
///
/// It runs one check for each call. It may block; the daemon then times out and abandons it.
public enum HostWorker {
    /// The additional memory that the process may use, in bytes; a directory may have any number of files.
    ///
    /// Mapped files do not count: libsystemd maps those of the journal, and leaves out those for which it cannot.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        WorkerCalls<HostCall>.serve(additionalMemory: memoryLimit, of: .data) { call in
            HostAnswer(Result { () throws(CheckFailure) in try call.settings.check() })
        }
    }

    /// Carries out the one call on standard input, and writes the answer; does not return.
    public static func runOnce() -> Never {
        var input: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while input.count <= WorkerMessage.maximumBytes, case let count = read(STDIN_FILENO, &chunk, chunk.count),
            count > 0
        {
            input += chunk.prefix(count)
        }
        guard MemoryLimit.set(additional: memoryLimit, of: .data) == nil else { exit(1) }
        guard let call = input.withUnsafeBytes({ try? WorkerMessage.decode(HostCall.self, from: $0) }) else {
            exit(1)
        }
        let result = Result { () throws(CheckFailure) in try call.settings.check() }
        let answer = WorkerMessage.encode(HostAnswer(result)).dropLast()
        exit(Array(answer).withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) } == answer.count ? 0 : 1)
    }
}
