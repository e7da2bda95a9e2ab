// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("Addresses", .timeLimit(.minutes(5)))
struct AddressTests {
    @Test(
        "each kind of address is parsed, and its description is the same text",
        arguments: [
            ("unix:/run/x", .unix(.path("/run/x"))),
            ("unix:/run/x;mode=0660", .unix(.path("/run/x"), mode: 0o660)),
            ("unix:@org.example", .unix(.abstract("org.example"))),
            ("tcp:localhost:1234", .tcp(host: "localhost", port: 1234)),
            ("tcp:127.0.0.1:0", .tcp(host: "127.0.0.1", port: 0)),
            ("tcp:[::1]:65535", .tcp(host: "::1", port: 65535)),
            ("exec:/usr/bin/x", .exec(path: "/usr/bin/x")),
            ("exec:/usr/bin/x --varlink a;b", .exec(path: "/usr/bin/x", arguments: ["--varlink", "a;b"])),
            ("bridge:/usr/bin/ssh web1", .bridge(path: "/usr/bin/ssh", arguments: ["web1"])),
        ] as [(String, VarlinkAddress)])
    func reads(text: String, address: VarlinkAddress) throws {
        #expect(try VarlinkAddress(parsing: text) == address)
        #expect(address.description == text)
    }

    @Test(
        "anything else is refused with one sentence that names the error",
        arguments: [
            ("", ": must start with unix:, tcp:, exec: or bridge:"),
            ("/run/x", ": must start with"),
            ("http://x", ": must start with"),
            ("unix:", "must be unix:/path or unix:@name"),
            ("unix:run/x", "must be unix:/path or unix:@name"),
            ("unix:@", "must be unix:/path or unix:@name"),
            ("unix:/run/x;mode=0999", "octal"),
            ("unix:/run/x;mode=", "octal"),
            ("unix:/run/x;mode=01000", "octal"),
            ("unix:/run/x;mod=0600", "must have no parameter except mode"),
            ("unix:/run/x;mode=0600;mode=0666", "must have no parameter except mode"),
            ("unix:@x;mode=0600", "abstract"),
            ("tcp:localhost", "port"),
            ("tcp:localhost:", "port"),
            ("tcp:localhost:65536", "port"),
            ("tcp:localhost:+1", "port"),
            ("tcp::1", "host"),
            ("tcp:a b:1", "host"),
            ("tcp:::1:80", "brackets"),
            ("exec:program", "absolute"),
            ("exec:", "absolute"),
            ("bridge:ssh web1", "absolute path, as in bridge:/"),
            ("unix:/run/\0x", "NUL"),
        ])
    func refuses(text: String, reason: String) {
        let error = #expect(throws: IOError.self) { try VarlinkAddress(parsing: text) }
        #expect(error?.code == .invalidAddress)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    private func call(_ address: VarlinkAddress) async throws -> String? {
        let connection = try await VarlinkConnection.connect(to: address, timeout: .seconds(600))
        return try await connection.call(
            "org.example.test.Echo", { $0.member("text", "x") }, returning: [String: String].self)["text"]
    }

    @Test("a service listens at a path with the mode that its address sets, and clients ignore the mode")
    func listensAtPath() async throws {
        try await withTemporaryDirectory { directory in
            let address = try VarlinkAddress(parsing: "unix:\(directory)/socket;mode=0620")
            let listener = try await address.listen()
            var status = stat()
            #expect(stat("\(directory)/socket", &status) == 0 && status.st_mode & 0o777 == 0o620)
            try await Harness.run(listeners: [listener]) { _ in
                let text = try await call(address)
                #expect(text == "x")
            }
        }
    }

    @Test("without a mode, only this process's user may connect")
    func isPrivateByDefault() async throws {
        try await withTemporaryDirectory { directory in
            let listener = try await VarlinkAddress(parsing: "unix:\(directory)/socket").listen()
            var status = stat()
            #expect(stat("\(directory)/socket", &status) == 0 && status.st_mode & 0o777 == 0o600)
            _ = listener
        }
    }

    @Test("a service listens at an abstract name, which only one service can have")
    func listensAtName() async throws {
        let address = try VarlinkAddress(parsing: "unix:@org.example.test.\(getpid())")
        let listener = try await address.listen()
        await #expect { try await address.listen() } throws: { ($0 as? IOError)?.code == .addressInUse }
        try await Harness.run(listeners: [listener]) { _ in
            let text = try await call(address)
            #expect(text == "x")
        }
    }

    @Test("a service listens at a port of this host, for either address family", arguments: ["127.0.0.1", "::1"])
    func listensAtPort(host: String) async throws {
        let listener: OwnedDescriptor
        do throws(IOError) {
            listener = try await VarlinkAddress.tcp(host: host, port: 0).listen()
        } catch {
            // This host may have no addresses of that family.
            #expect(error.errno == EADDRNOTAVAIL || error.errno == EAFNOSUPPORT)
            return
        }
        let address = VarlinkAddress.tcp(host: host, port: port(of: listener))
        try await Harness.run(listeners: [listener]) { _ in
            let text = try await call(VarlinkAddress(parsing: "\(address)"))
            #expect(text == "x")
        }
    }

    @Test("clients that connect over TCP have no user, and count as one user")
    func countsTCP() async throws {
        let listener = try await VarlinkAddress.tcp(host: "127.0.0.1", port: 0).listen()
        let address = VarlinkAddress.tcp(host: "127.0.0.1", port: port(of: listener))
        var limits = VarlinkService.Limits()
        limits.maximumConnectionsPerUser = 1
        try await Harness.run(limits: limits, listeners: [listener]) { harness in
            await EventLoop.run { harness.interface.keepsCalls = true }
            let first = try await VarlinkConnection.connect(to: address, timeout: .seconds(600))
            #expect(try await echo(first, "x") == "x")
            let caller = await EventLoop.run { harness.interface.keptCalls.first?.caller }
            #expect(caller == PeerCredentials(processID: 0, userID: .max, groupID: .max))
            let second = try await VarlinkConnection.connect(to: address, timeout: .seconds(600))
            await #expect(throws: VarlinkClientError.self) { try await echo(second, "x") }
            #expect(try await echo(first, "y") == "y")
        }
    }

    @Test("a port without a listener and a host without an address are reported as a missing service")
    func findsNoListener() async throws {
        var listener: OwnedDescriptor? = try await VarlinkAddress.tcp(host: "127.0.0.1", port: 0).listen()
        let free = port(of: try #require(listener))
        listener = nil
        for address in [VarlinkAddress.tcp(host: "127.0.0.1", port: free), .exec(path: "/nonexistent/program")] {
            let error = await #expect(throws: VarlinkClientError.self) { try await call(address) }
            #expect(error?.code == .noService, "\(address): \(error?.description ?? "")")
        }
        await #expect { try await VarlinkAddress.exec(path: "/bin/true").listen() } throws: {
            ($0 as? IOError)?.code == .invalidAddress
        }
    }
}

@Suite("A client without a service", .timeLimit(.minutes(5)))
struct MissingServiceTests {
    @Test("without a listener, the error says so")
    func findsNoService() async throws {
        try await withTemporaryDirectory { directory in
            await #expect {
                try await VarlinkConnection.connect(to: .path("\(directory)/socket"))
            } throws: {
                ($0 as? VarlinkClientError)?.code == .noService
            }
            // A socket that a former process left behind.
            _ = try UnixSocket.listen(at: "\(directory)/socket", mode: 0o600)
            await #expect {
                try await VarlinkConnection.connect(to: .path("\(directory)/socket"))
            } throws: {
                ($0 as? VarlinkClientError)?.code == .noService
            }
        }
    }
}
