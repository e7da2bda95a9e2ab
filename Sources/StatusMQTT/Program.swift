// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import SystemdClient

/// The process: it carries messages until it is told to end.
struct Program: Sendable {
    enum Work: Sendable {
        /// Publish and follow.
        case carry
        /// Tell what the broker permits.
        case check
        /// Remove the messages of a host that is gone.
        case remove(String)

        var isShort: Bool { if case .carry = self { false } else { true } }
    }

    /// The file or directory with the section `mqtt`; nil to ask the daemon.
    let configuration: String?
    let logger: Logger

    private static let signals = [SIGTERM, SIGINT].filter { !SignalSource.isIgnored($0) }

    /// Prepares the process before any thread exists.
    static func prepare() {
        mallopt(M_MMAP_THRESHOLD, 32 * 1024)
        // Each thread would otherwise have a heap of its own.
        mallopt(M_ARENA_MAX, 1)
        SignalSource.block(signals)
        signal(SIGPIPE, SIG_IGN)
        MQTTConnection.prepare()
    }

    /// Does the work; returns the exit status.
    @EventLoop
    func run(_ work: Work) async -> Int32 {
        do {
            let sources = try work.isShort ? Self.signals.map { try SignalSource($0) { exit(128 + $0) } } : []
            defer { withExtendedLifetime(sources) {} }
            switch work {
            case .carry: return try await carry()
            case .check: return await BrokerCheck(try await settings()).run()
            case .remove(let host): return await HostRemoval(try await settings(), host: host).run()
            }
        } catch let failure as BridgeSettings.Failure {
            logger.error("\(failure)")
            return failure.exitStatus
        } catch {
            logger.error("\(error)")
            return 1
        }
    }

    /// The settings of a short task.
    @EventLoop
    private func settings() async throws -> BridgeSettings {
        if let configuration { return try BridgeSettings(try BridgeSettings.read(configuration: configuration)) }
        let section: MQTTSettings?
        do { section = try await DaemonLink().settings() } catch {
            throw BridgeSettings.Failure(
                description: "cannot ask statusd for the section “mqtt”: \(error); use --config", isConfiguration: false
            )
        }
        guard let section else {
            throw BridgeSettings.Failure(description: "the configuration of statusd has no section “mqtt”")
        }
        return try BridgeSettings(section)
    }

    /// Carries messages until a signal comes.
    @EventLoop
    private func carry() async throws -> Int32 {
        // Errors in a file are told before anything else.
        let fixed = configuration == nil ? nil : try await settings()
        let carrier = Carrier(daemon: try DaemonLink(), fixed: fixed, logger: logger)
        ServiceManager.notify(.status("waiting for statusd"))
        let signals = try Signals(Self.signals)
        // Unstructured, because a signal ends it.
        let task = Task {
            do { try await carrier.run() } catch { signals.fail(error) }
        }
        let failure = await signals.wait()
        ServiceManager.notify(.stopping)
        task.cancel()
        await carrier.stop()
        if let failure { throw failure }
        return 0
    }
}

/// Waits for a signal that ends the process, or for an error.
@EventLoop
private final class Signals {
    private var sources: [SignalSource] = []
    private var ended: (any Error)??
    private var waiter: CheckedContinuation<(any Error)?, Never>?

    init(_ signals: [Int32]) throws(IOError) {
        for signal in signals { sources.append(try SignalSource(signal) { [weak self] _ in self?.end(nil) }) }
    }

    func fail(_ error: any Error) { end(error) }

    func wait() async -> (any Error)? {
        await withCheckedContinuation { continuation in
            if let ended { return continuation.resume(returning: ended) }
            waiter = continuation
        }
    }

    private func end(_ failure: (any Error)?) {
        guard ended == nil else { return }
        ended = .some(failure)
        waiter?.resume(returning: failure)
        waiter = nil
    }
}
