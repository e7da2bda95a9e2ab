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
    /// The maximum number of addresses, which the host's name server chooses; each takes a descriptor.
    private static let maximumAddresses = 8

    /// Connects, and returns the time that the answering address took.
    ///
    /// - Throws: the ``IOError`` of the first address, or of an address that could not be tried because this host lacks
    ///   a resource; `CancellationError`.
    static func probe(_ addresses: [InternetAddress]) async throws -> Duration {
        try await withThrowingTaskGroup(of: Step.self) { group in
            defer { group.cancelAll() }
            var (rest, underway) = (addresses.prefix(maximumAddresses), 0)
            var failure: IOError?
            func tryNext() {
                guard let address = rest.popFirst() else { return }
                underway += 1
                group.addTask { try await attempt(address) }
                guard !rest.isEmpty else { return }
                group.addTask {
                    try await EventLoop.sleep(for: patience)
                    return .nextIsDue
                }
            }
            tryNext()
            while underway > 0, let step = try await group.next() {
                switch step {
                case .connected(let duration): return duration
                case .failed(let error):
                    // An exhausted resource is reported: the address was not tried, and might have answered.
                    if failure == nil || error.code == .exhausted { failure = error }
                    underway -= 1
                case .nextIsDue: break
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
