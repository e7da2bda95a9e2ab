// SPDX-License-Identifier: Apache-2.0

#if Web
import EventLoopIO
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// The command line of statusd-web.
@main
enum Main {
    private static let listen = Option<Listener>(
        "listen", value: "ADDRESS", help: "Listen at HOST:PORT or unix:PATH, unless systemd passes a socket.",
        default: .tcp(host: "127.0.0.1", port: 8470)
    ) { text throws(InvalidValue) in
        guard let listener = Listener(text) else {
            throw InvalidValue("must be HOST:PORT, such as 127.0.0.1:8470, or unix:PATH")
        }
        return listener
    }

    private static let hosts = Option<Set<String>>(
        "host", value: "NAMES", help: "Also answer requests to these names, such as status.example.org,status.",
        default: []
    ) { text in Set(text.lowercased().split(separator: ",").map(String.init)) }

    private static let actions = Flag(
        "actions", help: "Let people whom a proxy on the Unix socket has authenticated refresh, select and silence.")

    private static let program = Command<Void>(
        "statusd-web", abstract: "Show the status of servers on a page.",
        discussion: "Exit status: 0 stopped by a signal, 1 failed, 64 invalid command line.",
        parameters: [listen, hosts, actions])

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        let parser = CommandParser(program, version: MonitorVersion.current)
        do throws(UsageError) {
            switch try parser.parse(Array(CommandLine.arguments.dropFirst())) {
            case .show(let text): print(text)
            case .complete: break
            case .run(_, let arguments):
                WebServer.run(
                    arguments[listen], hosts: arguments[hosts], hasActions: arguments[actions])
            }
        } catch {
            WebServer.fail("\(VisibleText.escape(error.reason))\n\(error.usage)", status: 64)
        }
    }
}
#else
@main
enum Main {
    static func main() { fatalError("statusd-web is built with --traits Web") }
}
#endif
