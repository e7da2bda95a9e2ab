// SPDX-License-Identifier: Apache-2.0

import Glibc

extension InternetSocket {
    /// Connects to a host, a name or a number: to the first of its addresses that accepts.
    ///
    /// What is left of `timeout` is shared out evenly among the addresses that are left.
    @EventLoop
    public static func connect(
        to host: String, port: UInt16, timeout: Duration
    ) async throws(IOError) -> OwnedDescriptor {
        let deadline = ContinuousClock.now + timeout
        let addresses = try await lookUp(host, port, within: timeout)
        var failure = IOError(.notFound, "host not found: \(host)")
        for (index, address) in addresses.enumerated() {
            let share = (deadline - .now) / (addresses.count - index)
            switch await connect(to: address, within: share) {
            case .success(let socket)?:
                socket.sendAtOnce()
                return socket
            case .failure(let error)?: failure = error
            case nil: failure = IOError(.timedOut, "cannot connect: no answer")
            }
            if Task.isCancelled { break }
        }
        throw IOError(failure.code, "\(host):\(port): \(failure.message)", errno: failure.errno)
    }

    /// A stream socket that listens at an address of this host; port 0 stands for any that is free.
    public static func listen(
        at host: String, port: UInt16, backlog: Int32 = 128
    ) async throws(IOError) -> OwnedDescriptor {
        let addresses: [InternetAddress]
        do { addresses = try await InternetAddress.lookUp(host, port: port) } catch {
            throw IOError(.notFound, "\(error)")
        }
        guard let address = addresses.first else { throw IOError(.notFound, "host not found: \(host)") }
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, flags, 0)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot create a socket") }
        let socket = OwnedDescriptor(adopting: descriptor)
        // Connections of an earlier process that are still being closed do not keep the port.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        // What is accepted inherits it.
        socket.sendAtOnce()
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, backlog) == 0
        else { throw IOError(errno: errno, "cannot listen at \(host):\(port)") }
        return socket
    }

    @EventLoop
    private static func lookUp(
        _ host: String, _ port: UInt16, within limit: Duration
    ) async throws(IOError) -> [InternetAddress] {
        let found = await TimedWait<Result<[InternetAddress], IOError>>.run(within: limit) { end in
            // Nobody's child, since a look-up cannot be cancelled: it ends when the resolver has answered.
            Task {
                do {
                    end(.success(try await InternetAddress.lookUp(host, port: port)))
                } catch {
                    end(.failure(IOError(.notFound, "\(error)")))
                }
            }
        }
        guard let found else { throw IOError(.timedOut, "cannot look up host \(host): no answer") }
        return try found.get()
    }

    /// Connects; nil if that takes longer than `limit`, or the task is cancelled.
    @EventLoop
    private static func connect(
        to address: InternetAddress, within limit: Duration
    ) async -> Result<OwnedDescriptor, IOError>? {
        await withTaskGroup(of: Result<OwnedDescriptor, IOError>?.self) { group in
            group.addTask { await attempt(address) }
            group.addTask {
                try? await EventLoop.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    @EventLoop
    private static func attempt(_ address: InternetAddress) async -> Result<OwnedDescriptor, IOError>? {
        do throws(IOError) {
            return try await connect(to: address).map { .success($0) }
        } catch {
            return .failure(error)
        }
    }
}

extension OwnedDescriptor {
    /// Has the kernel send small messages at once, and not wait for more (`TCP_NODELAY`; tcp(7)).
    fileprivate func sendAtOnce() {
        var on: Int32 = 1
        setsockopt(rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }
}
