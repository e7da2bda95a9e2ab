// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusConfiguration
import SystemdClient

/// Tells people how the connections are: a few lines in the journal, and one line in `systemctl status`.
@EventLoop
final class BrokerReport {
    enum Purpose: Hashable { case publish, subscribe }

    private let logger: Logger
    private let purposes: Set<Purpose>
    private var sessions: [Purpose: MQTTSessionInfo] = [:]
    /// Whether the journal says that there is no connection, or nothing yet.
    private var mustSayConnected = true
    /// Ends when connections that had failed have lasted.
    private var timer: TimerSource?
    /// A broker that ends each connection at once does not count as connected.
    private static let longEnough = Duration.seconds(5)
    /// Why a connection ended last; nil while all is well.
    private var failure: String?
    /// The reasons that were logged since all was well.
    private var said: Set<String> = []
    private static let mostReasons = 64
    private let limiter: LogLimiter

    init(_ logger: Logger, _ purposes: Set<Purpose>) {
        (self.logger, self.purposes) = (logger, purposes)
        limiter = LogLimiter(logger, .warning, burst: 3, interval: .seconds(300))
        timer = try? TimerSource(accuracy: .milliseconds(250)) { [weak self] in self?.sayConnected() }
    }

    /// Whether all connections are up.
    var isConnected: Bool { sessions.count == purposes.count }

    func take(_ event: MQTTEvent, of purpose: Purpose) {
        switch event {
        case .connected(let info):
            sessions[purpose] = info
            guard isConnected else { return }
            if failure == nil { sayConnected() } else { timer?.schedule(after: Self.longEnough) }
        case .ended(let reason, _):
            sessions[purpose] = nil
            timer?.stop()
            // An older version of the protocol is tried at once.
            if reason.code == .wanted || reason.code == .version { return }
            failure = reason.description
            // Both connections fail for the same reason, and so do most attempts.
            guard said.count < Self.mostReasons, said.insert(reason.description).inserted else { return }
            if limiter.log("\(reason)", about: "broker") { mustSayConnected = true }
        default: break
        }
    }

    private func sayConnected() {
        (failure, said) = (nil, [])
        guard mustSayConnected, let info = sessions.first?.value else { return }
        mustSayConnected = false
        logger.info("connected to \(info.broker.authority) (\(info.version))")
    }

    /// A sentence for the service manager.
    ///
    /// - Parameters:
    ///   - published: the number of published servers; nil if none is.
    ///   - followed: the number of hosts that are followed; nil if none is to be.
    func sentence(published: Int?, followed: Int?, isDaemonPresent: Bool) -> String {
        guard isDaemonPresent else { return "statusd does not answer" }
        guard let session = sessions[.subscribe] ?? sessions[.publish] else {
            return failure.map { "not connected: \($0)" } ?? "connecting to a broker"
        }
        var sentence = "connected to \(session.broker.authority) (\(session.version))"
        if let published { sentence += ", publishing \(published) server\(published == 1 ? "" : "s")" }
        if let followed { sentence += ", following \(followed) host\(followed == 1 ? "" : "s")" }
        return sentence
    }
}
