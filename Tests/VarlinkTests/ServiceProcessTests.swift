// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

/// The services are scripts of /bin/sh, which answer without reading the calls.
@Suite("Services that are started for a connection", .timeLimit(.minutes(5)))
struct ServiceProcessTests {
    private struct Answer: JSONReadable, Sendable {
        var text = ""
        var process: Int32 = 0

        init(from reader: inout JSONReader) throws(JSONError) {
            var answer = ("", 0)
            try reader.object { name, reader throws(JSONError) in
                switch name {
                case "text": answer.0 = try reader.string()
                case "process": answer.1 = try reader.integer()
                default: throw .unknownMember(name)
                }
            }
            (text, process) = (answer.0, Int32(answer.1))
        }
    }

    private func connect(_ script: String, _ arguments: String...) async throws -> VarlinkConnection {
        try await VarlinkConnection.connect(to: .exec(path: "/bin/sh", arguments: ["-c", script, "sh"] + arguments))
    }

    private func call(_ connection: VarlinkConnection) async throws -> Answer {
        try await connection.call("org.example.test.Get", returning: Answer.self)
    }

    /// Answers once with `text`.
    private func answer(_ text: String) -> String {
        #"printf '{"parameters":{"text":"%s","process":%d}}\0' "\#(text)" $$ >&3"#
    }

    /// Returns when this process no longer has this child, not even as a zombie; fails at the test's time limit.
    private func isReaped(_ process: Int32) async {
        var information = siginfo_t()
        while !Task.isCancelled, waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0 {
            await EventLoop.run {}
        }
        #expect(errno == ECHILD)
    }

    @Test("it gets the connection as descriptor 3, with the variables that systemd sets")
    func passesConnection() async throws {
        let text = "$LISTEN_FDS $LISTEN_FDNAMES $([ $LISTEN_PID = $$ ] && echo its own) $1 $2"
        let connection = try await connect(answer(text) + "; read -r rest <&3", "a b", "c")
        #expect(try await call(connection).text == "1 varlink its own a b c")
    }

    @Test("a bridge has the connection as input and output, stays in this process's group, and ends with it")
    func bridges() async throws {
        let answer = #"printf '{"parameters":{"text":"%s","process":%d}}\0' "$(cut -d ' ' -f 5 /proc/$$/stat)" $$"#
        let script = "head -c 1 >/dev/null; " + answer + "; cat >/dev/null"
        let address = VarlinkAddress.bridge(path: "/bin/sh", arguments: ["-c", script])
        let connection = try await VarlinkConnection.connect(to: address)
        let reply = try await call(connection)
        #expect(reply.text == String(getpgrp()))
        await connection.close()
        await isReaped(reply.process)
    }

    @Test("it has none of this process's other descriptors")
    func inheritsNothing() async throws {
        let (reading, writing) = try #require(OwnedDescriptor.makePipe())
        _ = fcntl(writing.rawValue, F_SETFD, 0)
        let connection = try await connect(
            answer("$([ -e /proc/$$/fd/\(writing.rawValue) ] && echo open || echo closed)") + "; read -r rest <&3")
        #expect(try await call(connection).text == "closed")
        _ = reading
    }

    @Test("it ends and is reaped when the connection is closed, even if it does not read")
    func endsWhenClosed() async throws {
        let connection = try await connect(answer("x") + "; sleep 600")
        let process = try await call(connection).process
        await connection.close()
        await isReaped(process)
    }

    @Test("it ends and is reaped when the connection is released")
    func endsWhenReleased() async throws {
        let process = try await call(connect(answer("x") + "; sleep 600")).process
        await isReaped(process)
    }

    @Test("a service that ends by itself is reaped, and its connection is closed")
    func endsByItself() async throws {
        let connection = try await connect(answer("x"))
        let process = try await call(connection).process
        await isReaped(process)
        await #expect { try await call(connection) } throws: { ($0 as? VarlinkClientError)?.code == .closed }
    }

    @Test("a program that cannot be executed is distinguished from a service that does not answer")
    func cannotStart() async throws {
        await #expect {
            try await VarlinkConnection.connect(to: .exec(path: "/etc/passwd"))
        } throws: {
            ($0 as? VarlinkClientError)?.code == .permissionDenied
        }
    }
}
