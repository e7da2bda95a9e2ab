// SPDX-License-Identifier: Apache-2.0

import DequeModule
import EventLoopIO
import StatusConfiguration

/// A short connection to a broker, whose events a task takes one by one.
@EventLoop
final class BrokerVisit {
    /// Longer than one attempt with each version of the protocol may take.
    private static let patience = Duration.seconds(15)
    /// After so long without a message that the broker keeps, it has sent all of them.
    private static let quietTime = Duration.seconds(1)

    private var connection: MQTTConnection?
    private var events: Deque<MQTTEvent> = []
    private var waiter: (@Sendable (MQTTEvent) -> Void)?
    private(set) var info: MQTTSessionInfo?

    /// Connects to one of the brokers in the settings.
    ///
    /// - Throws: why the last of them cannot be used.
    static func begin(_ settings: MQTTConnection.Settings) async throws(ConnectionFailure) -> BrokerVisit {
        let visit = BrokerVisit()
        do throws(IOError) {
            visit.connection = try MQTTConnection(settings) { [weak visit] in visit?.take($0) }
        } catch { throw ConnectionFailure(.lost, error.message) }
        var attempts = 0
        while let event = await visit.next(within: patience) {
            switch event {
            case .connected(let info):
                visit.info = info
                return visit
            case .ended(let failure, _):
                let hasOlderVersion = [.version, .closedAtOnce].contains(failure.code) && attempts.isMultiple(of: 2)
                attempts += hasOlderVersion ? 1 : 2
                guard attempts < 2 * settings.brokers.count else {
                    await visit.end()
                    throw failure
                }
            default: break
            }
        }
        await visit.end()
        throw .noAnswer(settings.brokers[0])
    }

    /// Returns the next event; nil if there is none within the time.
    func next(within time: Duration) async -> MQTTEvent? {
        if let event = events.popFirst() { return event }
        let event = await TimedWait<MQTTEvent>.run(within: time) { waiter = $0 }
        waiter = nil
        return event
    }

    /// Subscribes; returns whether each filter is permitted.
    func subscribe(_ filters: [String]) async throws(ConnectionFailure) -> [Bool] {
        connection?.subscribe(filters)
        while let event = await next(within: Self.patience) {
            switch event {
            case .subscribed(let granted): return granted
            case .ended(let failure, _): throw failure
            default: break
            }
        }
        throw ConnectionFailure(.lost, "the broker does not answer a subscription")
    }

    /// Reads what the broker keeps for the filters that were subscribed to.
    func readKept(_ take: (IncomingMessage) -> Void) async throws(ConnectionFailure) {
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline, let event = await next(within: Self.quietTime) {
            switch event {
            case .message(let message) where message.isRetained: take(message)
            case .ended(let failure, _): throw failure
            default: break
            }
        }
    }

    func publish(_ message: OutgoingMessage) { connection?.publish(message) }

    func end() async { await connection?.stop() }

    private func take(_ event: MQTTEvent) {
        if let waiter {
            self.waiter = nil
            waiter(event)
        } else {
            events.append(event)
        }
    }
}
