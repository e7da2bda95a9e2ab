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
