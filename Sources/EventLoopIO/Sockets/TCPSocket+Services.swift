// SPDX-License-Identifier: Apache-2.0

import Glibc

extension TCPSocket {
    /// Connects to a host, given by name or number: to the first of its addresses that accepts.
    ///
    /// The addresses share the time evenly: each gets its part of what is left of `timeout`.
    @EventLoop
    public static func connect(
        to host: String, port: UInt16, timeout: Duration
    ) async throws(IOError) -> OwnedDescriptor {
        let deadline = ContinuousClock.now + timeout
        let addresses = try await Resolver.lookUp(host, port: port, within: timeout)
        var failure = IOError(.notFound, "host not found: \(host)")
        for (index, address) in addresses.enumerated() {
            let share = (deadline - .now) / (addresses.count - index)
            do throws(IOError) {
                if let socket = try await connect(to: address, within: share) {
                    socket.sendAtOnce()
                    return socket
                }
                failure = IOError(.timedOut, "cannot connect: no answer")
            } catch {
                failure = error
            }
            if Task.isCancelled { break }
        }
        throw IOError(failure.code, "\(host):\(port): \(failure.message)", errno: failure.errno)
    }

    /// Creates a stream socket that listens at an address of this host; port 0 means any free port.
    public static func listen(
        at host: String, port: UInt16, backlog: Int32 = 128
    ) async throws(IOError) -> OwnedDescriptor {
        let addresses: [InternetAddress]
        do { addresses = try await Resolver.lookUp(host, port: port) } catch {
            throw IOError(.notFound, "\(error)")
        }
        guard let address = addresses.first else { throw IOError(.notFound, "host not found: \(host)") }
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, flags, 0)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot create a socket") }
        let socket = OwnedDescriptor(adopting: descriptor)
        // Old connections that are still being closed must not keep the port.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        // Accepted connections inherit this.
        socket.sendAtOnce()
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, backlog) == 0
        else { throw IOError(errno: errno, "cannot listen at \(host):\(port)") }
        return socket
    }
}

extension OwnedDescriptor {
    /// Makes the kernel send small messages at once, without waiting for more (`TCP_NODELAY`; tcp(7)).
    fileprivate func sendAtOnce() {
        var on: Int32 = 1
        setsockopt(rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }
}
