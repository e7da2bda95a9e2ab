// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Connects to one of several addresses.
///
/// The next address is tried if one has failed, or has not answered for 250 ms. So a broken address family does not
/// hide the other one (RFC 8305, "Happy Eyeballs").
struct TCPConnection: Sendable {
    private enum Step {
        case connected(TCPConnection)
        case failed(IOError)
        case nextIsDue
    }

    private let socket: OwnedDescriptor
    /// The time that the answering address took.
    let latency: Duration

    private static let patience = Duration.milliseconds(250)
    /// The maximum number of addresses, which the host's name server chooses; each takes a descriptor.
    private static let maximumAddresses = 8

    /// Connects to the first address that answers.
    ///
    /// - Throws: the ``IOError`` of the first address, or of an address that could not be tried because this host lacks
    ///   a resource; `CancellationError`.
    static func probe(_ addresses: [InternetAddress]) async throws -> TCPConnection {
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
                case .connected(let connection): return connection
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
        guard let socket else { throw CancellationError() }
        return .connected(TCPConnection(socket: socket, latency: ContinuousClock.now - began))
    }

    /// How long to wait for the peer's end of the connection.
    private static let farewell = Duration.milliseconds(250)
    /// How many bytes to take of a peer that sends all the time.
    private static let maximumBytes = 1 << 20

    /// Closes the connection as a client that has nothing to say: takes what the peer sends, until it closes, too.
    ///
    /// Unread data would turn the end into a reset, for which some servers that speak first, such as MySQL, block this
    /// host in the end.
    @EventLoop
    func close() async {
        shutdown(socket.rawValue, Int32(SHUT_WR))
        let end = ContinuousClock.now + Self.farewell
        var taken = 0
        while ContinuousClock.now < end, taken < Self.maximumBytes,
            (try? await IOSource.wait(for: .readable, of: socket, within: end - .now)) == true
        {
            let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) {
                recv(socket.rawValue, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
            }
            guard count > 0 else { return }
            taken += count
        }
    }
}
