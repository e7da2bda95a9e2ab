// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
public import SourceKinds
import StatusModel

/// `ping: host`: checks whether a host answers ICMP echo requests, how many of them, and how quickly.
struct PingCheck: Check {
    let settings: PingSettings
    private let timeout: Duration
    private let lookUp: HostLookUp

    var resource: CheckBudget.Resource { lookUp.resource }

    @EventLoop init(_ settings: PingSettings, _ order: SourceOrder) {
        (self.settings, timeout) = (settings, order.schedule.timeout)
        lookUp = HostLookUp(settings.host, order)
    }

    func run() async throws -> CheckResult {
        let end = ContinuousClock.now + timeout
        do {
            let addresses = try await lookUp.addresses(within: timeout)
            return settings.judge(
                try await EchoRun.ping(addresses, count: settings.count, until: end), timeout: timeout)
        } catch let error as FailedLookUp {
            return CheckResult(.critical, "\(error)")
        } catch let error as IOError {
            // If this host may not ping, or lacks a resource, the state of the other host is unknown.
            if error.code == .permissionDenied { throw CheckFailure(PingSettings.refusal) }
            if error.code == .exhausted { throw CheckFailure(error.message) }
            return CheckResult(.critical, error.reason)
        }
    }
}

extension PingSettings {
    func judge(_ run: EchoRun, timeout: Duration) -> CheckResult {
        let (sent, times) = (run.count, run.times)
        let percentage = 100 * Double(sent - times.count) / Double(sent)
        let loss = MeasuredValue("loss", percentage, "%", warning: self.loss, critical: 100)
        guard !times.isEmpty else {
            let pings = sent == 1 ? "1 ping" : "\(sent) pings"
            let silence = "no answer to \(pings) within \(TimeSpan.text(timeout))"
            return CheckResult(.critical, run.failure?.reason ?? silence, values: [loss])
        }
        let latency = Latency(times.reduce(.zero, +) / times.count, slow: slow)
        return CheckResult(
            percentage >= self.loss || latency.isSlow ? .warning : .ok,
            "\(loss.text) of \(sent) lost, \(latency)", values: [loss, latency.value])
    }

}

extension IOError {
    fileprivate var reason: String { String(cString: strerror(errno)).asPhrase }
}

/// The echo requests of one check, and what became of them.
struct EchoRun: Sendable {
    /// The number of requests.
    let count: Int
    /// The times of the answers.
    var times: [Duration] = []
    /// The reason why the last undelivered request was not delivered, if the network reported one.
    var failure: IOError?

    /// The longest pause between two requests.
    private static let longestPause = Duration.milliseconds(200)
    /// The maximum number of addresses, which the host's name server chooses.
    private static let maximumAddresses = 8

    /// Pings the first address that this host can send to.
    ///
    /// - Throws: the ``IOError`` of the first address if this host can send to none; `CancellationError`.
    static func ping(
        _ addresses: [InternetAddress], count: Int, until end: ContinuousClock.Instant
    ) async throws -> EchoRun {
        var failure: IOError?
        for address in addresses.prefix(maximumAddresses) {
            do throws(IOError) {
                let socket = try EchoSocket(to: address)
                let began = ContinuousClock.now
                try socket.send(sequence: 0)
                return try await EchoRun(count: count).completed(socket, began, until: end)
            } catch {
                try Task.checkCancellation()
                // Without the permission or a descriptor, no address can be tried.
                if error.code != .systemCall { throw error }
                failure = failure ?? error
            }
        }
        throw failure ?? IOError(.systemCall, "cannot ping", errno: EADDRNOTAVAIL)
    }

    /// Sends the other requests, and waits until each has an answer, or until the end.
    @EventLoop
    private func completed(
        _ socket: EchoSocket, _ began: ContinuousClock.Instant, until end: ContinuousClock.Instant
    ) async throws(IOError) -> EchoRun {
        var run = self
        let pause = min(Self.longestPause, (end - began) / (2 * count))
        /// The times at which requests were sent that have no answer.
        var open: [UInt16: ContinuousClock.Instant] = [0: began]
        var sent = 1
        while !Task.isCancelled, ContinuousClock.now < end, sent < count || !open.isEmpty {
            let due = began + pause * sent
            if sent < count, ContinuousClock.now >= due {
                do throws(IOError) {
                    try socket.send(sequence: UInt16(sent))
                    open[UInt16(sent)] = .now
                } catch {
                    run.failure = error
                }
                sent += 1
                continue
            }
            guard try await socket.wait(within: (sent < count ? min(due, end) : end) - .now) else { continue }
            let now = ContinuousClock.now
            for arrival in socket.receive() {
                switch arrival {
                case .reply(let sequence):
                    // A second answer to the same request does not count.
                    if let time = open.removeValue(forKey: sequence) { run.times.append(now - time) }
                case .failed(let sequence, let error):
                    // Anybody may send a report, so an answer may still come.
                    if open[sequence] != nil { run.failure = error }
                }
            }
        }
        return run
    }
}

extension PingSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { PingCheck(self, order) }
}
