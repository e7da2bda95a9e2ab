// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import Varlink

/// `varlink-certification --client|--server PATH`: one side of Varlink's certification, generated from its description.
@main
enum VarlinkCertification {
    static func main() {
        EventLoop.runProcess {
            let arguments = CommandLine.arguments
            guard arguments.count == 3, ["--client", "--server"].contains(arguments[1]) else { return 64 }
            do {
                if arguments[1] == "--server" {
                    try await serve(at: arguments[2])
                } else {
                    try await call(arguments[2])
                }
                return 0
            } catch {
                print("not certified: \(error)")
                return 1
            }
        }
    }

    private static func call(_ path: String) async throws {
        let client = CertificationClient(try await VarlinkConnection.connect(to: .path(path)))
        try await CertificationRun.run(client)
        print("Certification passed")
    }

    @EventLoop
    private static func serve(at path: String) async throws {
        let service = VarlinkService(
            info: .init(vendor: "statusd", product: "certification", version: "1", url: "https://varlink.org"),
            interfaces: [CertificationServer()], listeners: [try UnixSocket.listen(at: path, mode: 0o600)],
            logger: Logger(label: "certification"))
        try await service.run()
    }
}

/// The client, which calls each method with the result of the previous one.
enum CertificationRun {
    static func run(_ client: CertificationClient) async throws {
        let id = try await client.start().clientId
        let one = try await client.test01(clientId: id)
        let two = try await client.test02(clientId: id, bool: one.bool)
        let three = try await client.test03(clientId: id, int: two.int)
        let four = try await client.test04(clientId: id, float: three.float)
        let five = try await client.test05(clientId: id, string: four.string)
        let six = try await client.test06(
            clientId: id, bool: five.bool, int: five.int, float: five.float, string: five.string)
        let structure = CertificationInterface.Test07Parameters.Struct(
            bool: six.struct.bool, int: six.struct.int, float: six.struct.float, string: six.struct.string)
        let seven = try await client.test07(clientId: id, struct: structure)
        let eight = try await client.test08(clientId: id, map: seven.map)
        let nine = try await client.test09(clientId: id, set: eight.set)
        var replies: [String] = []
        for try await reply in try await client.test10Replies(clientId: id, mytype: nine.mytype) {
            replies.append(reply.string)
        }
        try await client.test11Oneway(clientId: id, lastMoreReplies: replies)
        guard try await client.end(clientId: id).allOk else { throw CertificationError.clientIdError }
    }
}
