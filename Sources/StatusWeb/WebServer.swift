// SPDX-License-Identifier: Apache-2.0

#if Web
import CLinux
import EventLoopIO
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import StatusInterface
import StatusModel
import SystemdClient
import Varlink

/// Where statusd-web listens if systemd passes no socket.
enum Listener: Sendable, Equatable, CustomStringConvertible {
    case tcp(host: String, port: Int)
    case unix(String)

    var description: String {
        switch self {
        case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Reads `HOST:PORT` or `unix:PATH`; nil if it is neither.
    init?(_ text: String) {
        if text.hasPrefix("unix:/"), text.utf8.count <= 5 + 107 {
            self = .unix(String(text.dropFirst(5)))
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        if host.isEmpty { return nil }
        self = .tcp(host: String(host), port: Int(port))
    }
}

/// The process: one thread, which is NIO's event loop.
enum WebServer {
    /// How long requests that are on their way may take after SIGTERM.
    private static let patience = TimeAmount.seconds(1)
    /// How many connections may wait to be accepted; one more is sent away, and tries again after a second.
    private static let backlog: Int32 = 1024

    static func run(_ listener: Listener, hosts: Set<String>, hasActions: Bool) -> Never {
        let daemon: String
        do throws(EventLoopIO.IOError) { daemon = try daemonPath() } catch { fail(error.message, status: 64) }
        let passed = ["web", "statusd-web.socket", "unknown"].flatMap { ListeningSockets.inherited.take(named: $0) }
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            let site = Site(
                Site.Settings(hosts: hosts, hasActions: hasActions, hostName: hostName),
                limits: HTTPLimits(descriptors: OwnedDescriptor.limit),
                daemon: DaemonCalls.connector(to: daemon, on: loop), loop: loop)
            site.start()
            begin(passed, listener, site.visitors, loop)
        }
        exit(0)
    }

    private static func daemonPath() throws(EventLoopIO.IOError) -> String {
        let address = try MonitorAddress.standard(environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
        guard case .unix(.path(let path), _) = address else {
            throw EventLoopIO.IOError(.invalidAddress, "$\(MonitorAddress.variable) must be the path of a socket here")
        }
        return path
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        return gethostname(&name, name.count - 1) == 0
            ? String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
    }

    private static func begin(
        _ passed: [OwnedDescriptor], _ listener: Listener, _ visitors: Visitors, _ loop: any NIOCore.EventLoop
    ) {
        let bound = NIOLoopBound(visitors, eventLoop: loop)
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.maxMessagesPerRead, value: 16)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Without it, a process without a free descriptor would spin.
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false))
                }
            }
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 8 * 1024, high: 32 * 1024))
            .childChannelOption(.socketOption(.so_sndbuf), value: 64 * 1024)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 2048))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try Visitor.add(to: channel, bound.value) }
            }
        var started = passed.map { bootstrap.withBoundSocket(fcntl($0.rawValue, F_DUPFD_CLOEXEC, 0)) }
        if started.isEmpty {
            switch listener {
            case .tcp(let host, let port): started.append(bootstrap.bind(host: host, port: port))
            case .unix(let path):
                started.append(bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true))
            }
        }
        EventLoopFuture.whenAllSucceed(started, on: loop).whenComplete { result in
            switch result {
            case .success(let channels):
                // NIO shortens the queue of a socket that it has not bound.
                for descriptor in passed { listen(descriptor.rawValue, backlog) }
                endOnSignal(bound.value, channels, loop)
                if ServiceManager.isPresent {
                    _ = ServiceManager.notifyNow(.ready)
                } else if passed.isEmpty {
                    say("listening at \(listener)")
                }
            case .failure(let error): fail("cannot listen at \(listener): \(reason(error))", status: 1)
            }
        }
    }

    // MARK: The end

    /// Ends the process at SIGTERM and SIGINT: accepts no more, ends streams, and lets answers go out.
    private static func endOnSignal(_ visitors: Visitors, _ servers: [any Channel], _ loop: any NIOCore.EventLoop) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        sigprocmask(SIG_BLOCK, &signals, nil)
        let bound = NIOLoopBound(visitors, eventLoop: loop)
        NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        SignalHandler {
                            _ = ServiceManager.notifyNow(.stopping)
                            loop.scheduleTask(in: patience) { exit(0) }
                            stopAccepting(servers, loop) { bound.value.stop { exit(0) } }
                        })
                }
            }
            .takingOwnershipOfDescriptor(input: signalfd(-1, &signals, Int32(SFD_CLOEXEC | SFD_NONBLOCK)))
            .whenFailure { fail("cannot receive signals: \($0)", status: 1) }
    }

    /// Leaves further connections to the next process, and calls `body` when all that were accepted are visitors.
    ///
    /// A closed channel would reset those that it has just accepted.
    private static func stopAccepting(
        _ servers: [any Channel], _ loop: any NIOCore.EventLoop, then body: @escaping @Sendable () -> Void
    ) {
        let stopped = servers.map { $0.setOption(.autoRead, value: false) }
        EventLoopFuture.andAllComplete(stopped, on: loop).whenComplete { _ in loop.execute(body) }
    }

    private final class SignalHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let body: () -> Void

        init(_ body: @escaping () -> Void) { self.body = body }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { body() }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as NIOCore.IOError:
            let advice = error.errnoCode == EADDRINUSE ? "; stop the other program, or use another --listen" : ""
            return String(cString: strerror(error.errnoCode)) + advice
        case is SocketAddressError.UnknownHost: return "host not found"
        default: return "\(error)"
        }
    }

    /// Writes a sentence to standard error.
    private static func say(_ text: String) {
        let message = "statusd-web: \(text)\n"
        _ = write(STDERR_FILENO, message, message.utf8.count)
    }

    /// Writes a sentence to standard error, and ends the process.
    static func fail(_ reason: String, status: Int32) -> Never {
        say(reason)
        exit(status)
    }
}
#endif
