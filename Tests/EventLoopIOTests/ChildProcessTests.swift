// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import EventLoopIO

@Suite("Child processes", .timeLimit(.minutes(5)))
@EventLoop
struct ChildProcessTests {
    private func start(_ script: String) throws -> ChildProcess {
        try ChildProcess(ProcessStart(path: "/bin/sh", arguments: ["sh", "-c", script]))
    }

    /// Whether the process runs, or has ended and was not reaped.
    private func exists(_ number: Int32) -> Bool { kill(number, 0) == 0 }

    private func end(of process: ChildProcess) async {
        await withCheckedContinuation { continuation in process.whenEnded { continuation.resume() } }
    }

    @Test("a process that has ended keeps its number until the object is released, and is then reaped")
    func reaps() async throws {
        var process: ChildProcess? = try start("exit 3")
        let number = try #require(process?.number)
        await end(of: process!)
        #expect(exists(number))
        process = nil
        while exists(number) { await Task.yield() }
    }

    @Test("a process whose object is released before its end is reaped, too")
    func releasedEarly() async throws {
        let number = try start("exec sleep 1000").number
        #expect(exists(number))
        kill(number, SIGKILL)
        while exists(number) { await Task.yield() }
    }

    @Test("a killed process ends")
    func kills() async throws {
        let process = try start("exec sleep 1000")
        process.kill()
        await end(of: process)
    }
}
