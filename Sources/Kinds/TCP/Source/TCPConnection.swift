// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Connects to one of several addresses, and closes the connection.
///
/// The next address is tried if one has failed, or has not answered for 250 ms. So a broken address family does not
/// hide the other one (RFC 8305, "Happy Eyeballs").
enum TCPConnection {
    private enum Step {
        case connected(Duration)
        case failed(IOError)
        case nextIsDue
    }

    private static let patience = Duration.milliseconds(250)

    /// Connects, and returns the time that the answering address took.
    ///
    /// - Throws: the ``IOError`` of the first address, or of an address that could not be tried because this host lacks
    ///   a resource; `CancellationError`.
    static func probe(_ addresses: [InternetAddress]) async throws -> Duration {
        try await withThrowingTaskGroup(of: Step.self) { group in
            defer { group.cancelAll() }
            var attempts = ConnectionAttempts(addresses)
            var failure: IOError?
            func tryNext() {
                guard let (address, needsTimer) = attempts.next() else { return }
                group.addTask { try await attempt(address) }
                guard needsTimer else { return }
                group.addTask {
                    try await EventLoop.sleep(for: patience)
                    return .nextIsDue
                }
            }
            tryNext()
            while attempts.underway > 0, let step = try await group.next() {
                switch step {
                case .connected(let duration): return duration
                case .failed(let error):
                    // An exhausted resource is reported: the address was not tried, and might have answered.
                    if failure == nil || error.code == .exhausted { failure = error }
                    attempts.oneFailed()
                case .nextIsDue: attempts.timeIsUp()
                }
                tryNext()
            }
            throw failure ?? IOError(errno: EADDRNOTAVAIL, "cannot connect")
        }
    }

    @EventLoop
    private static func attempt(_ address: InternetAddress) async throws -> Step {
        let began = ContinuousClock.now
        let socket: OwnedDescriptor?
        do throws(IOError) {
            socket = try await TCPSocket.connect(to: address)
        } catch {
            return .failed(error)
        }
        guard socket != nil else { throw CancellationError() }
        return .connected(ContinuousClock.now - began)
    }
}

/// A state machine that decides which address of a host is tried next.
///
/// The number of addresses and of simultaneous attempts is limited, because the host's name server chooses the
/// addresses.
struct ConnectionAttempts {
    /// The maximum number of addresses to try.
    static let maximumAddresses = 32
    /// The maximum number of simultaneous attempts, each of which takes a descriptor.
    static let maximumUnderway = 8

    private var rest: ArraySlice<InternetAddress>
    private var isTimerRunning = false
    /// The number of attempts that have not ended.
    private(set) var underway = 0

    init(_ addresses: [InternetAddress]) { rest = addresses.prefix(Self.maximumAddresses) }

    /// Returns the address to try now, if any, and whether to start a timer for the next one.
    mutating func next() -> (address: InternetAddress, needsTimer: Bool)? {
        guard underway < Self.maximumUnderway, let address = rest.popFirst() else { return nil }
        underway += 1
        let needsTimer = !isTimerRunning && !rest.isEmpty
        if needsTimer { isTimerRunning = true }
        return (address, needsTimer)
    }

    /// Records that an attempt has failed.
    mutating func oneFailed() { underway -= 1 }

    /// Records that the timer has fired.
    mutating func timeIsUp() { isTimerRunning = false }
}
