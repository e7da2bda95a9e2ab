// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd

/// Connects to one of several addresses, and closes again.
///
/// The next address is tried when one has failed, or has not answered for 250 ms: so one family of addresses that leads nowhere
/// does not hide the other (RFC 8305, "Happy Eyeballs").
enum TCPConnection {
    private enum Step {
        case connected(Duration)
        case failed(SystemdError)
        case nextIsDue
    }

    private static let patience = Duration.milliseconds(250)

    /// Connects, and returns how long that took at the address that answered.
    ///
    /// - Throws: the ``SystemdError`` of the address that was tried first; `CancellationError`.
    static func probe(_ addresses: [InternetAddress]) async throws -> Duration {
        try await withThrowingTaskGroup(of: Step.self) { group in
            defer { group.cancelAll() }
            var rest = addresses[...]
            var underway = 0
            var failure: SystemdError?
            func tryNext() {
                guard let address = rest.popFirst() else { return }
                underway += 1
                group.addTask { try await attempt(address) }
                guard !rest.isEmpty else { return }
                group.addTask {
                    try await Task.sleep(for: patience)
                    return .nextIsDue
                }
            }
            tryNext()
            while underway > 0, let step = try await group.next() {
                switch step {
                case .connected(let duration): return duration
                case .failed(let error):
                    underway -= 1
                    failure = failure ?? error
                    tryNext()
                case .nextIsDue: tryNext()
                }
            }
            throw failure ?? SystemdError(errno: EADDRNOTAVAIL, "cannot connect")
        }
    }

    @EventLoop
    private static func attempt(_ address: InternetAddress) async throws -> Step {
        do throws(SystemdError) {
            let began = ContinuousClock.now
            guard try await connect(to: address) else { throw SystemdError(errno: ECANCELED, "cannot connect") }
            return .connected(ContinuousClock.now - began)
        } catch {
            try Task.checkCancellation()
            return .failed(error)
        }
    }

    /// Returns false where the task was cancelled.
    @EventLoop
    private static func connect(to address: InternetAddress) async throws(SystemdError) -> Bool {
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, flags, 0)
        guard descriptor >= 0 else { throw SystemdError(errno: errno, "cannot make a socket") }
        let socket = OwnedDescriptor(adopting: descriptor)
        defer { withExtendedLifetime(socket) {} }
        let failure = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard failure == EINPROGRESS else {
            if failure == 0 { return true }
            throw SystemdError(errno: failure, "cannot connect")
        }
        guard try await Readiness(of: descriptor, for: .writable).waitUnlessCancelled() else { return false }
        var result: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &result, &length)
        guard result == 0 else { throw SystemdError(errno: result, "cannot connect") }
        return true
    }
}
