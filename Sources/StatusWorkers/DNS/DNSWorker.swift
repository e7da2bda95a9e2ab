// SPDX-License-Identifier: Apache-2.0

/// A process that asks name servers for the daemon, which is connected to its standard input.
///
/// It isolates the library that reads the answers. Memory is limited, and the daemon ends the process if a question
/// takes too long. The process exits when the connection is closed.
public enum DNSWorker {
    /// The additional address space that the process may use, in bytes; a message has at most 64 KiB.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        WorkerCalls<DNSRequest>.serve(additionalMemory: memoryLimit) { DNSClient.perform($0) }
    }
}
