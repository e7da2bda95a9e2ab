// SPDX-License-Identifier: Apache-2.0

import Glibc
import Varlink

/// Answers with the text that it receives.
final class Answerer: PingService {
    func ping(_ parameters: PingParameters, _ call: PingCall<PingReply>) throws {
        if parameters.ping.isEmpty { throw PingError.nothingToAnswer }
        call.reply(PingReply(pong: parameters.ping))
    }
}

@main
struct Main {
    static func main() async {
        do {
            let address = CommandLine.arguments.dropFirst().first ?? "unix:@org.example.ping"
            let listener = try await VarlinkAddress(parsing: address).listen()
            let info = VarlinkService.Info(
                vendor: "Example", product: "ping", version: "1", url: "https://example.org/")
            try await VarlinkService(info: info, interfaces: [Answerer()], listeners: [listener]).run()
        } catch {
            print(error)
            exit(1)
        }
    }
}
