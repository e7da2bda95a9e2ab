// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Connects to one of several addresses, and closes the connection.
///
/// The next address is tried when one has failed, or has not answered for 250 ms. So an address family that does not
/// work does not hide the other (RFC 8305, "Happy Eyeballs").
enum TCPConnection {
    private enum Step {
        case connected(Duration)
        case failed(IOError)
        case nextIsDue
    }

    private static let patience = Duration.milliseconds(250)

    /// Connects, and returns how long the address that answered took.
    ///
    /// - Throws: the ``IOError`` of the first address, or of one that could not be tried because this host has run out
    ///   of something; `CancellationError`.
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
                    // This address was not tried, and may be the only one that answers.
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
