// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// TCP sockets, all close-on-exec and non-blocking.
package enum TCPSocket {
    /// Connects; nil on a timeout or if the task is cancelled.
    @EventLoop
    package static func connect(
        to address: InternetAddress, within limit: Duration = .seconds(3600)
    ) async throws(IOError) -> OwnedDescriptor? {
        let socket = try OwnedDescriptor.makeSocket(address.family, Int32(SOCK_STREAM.rawValue))
        let failure = address.connect(socket)
        if failure == 0 { return socket }
        guard failure == EINPROGRESS else { throw error(failure, of: address) }
        guard try await IOSource.wait(for: .writable, of: socket, within: limit) else { return nil }
        var result: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket.rawValue, SOL_SOCKET, SO_ERROR, &result, &length)
        // A peer that refuses causes ECONNREFUSED; a peer that resets has accepted first.
        guard result == 0 || result == ECONNRESET || result == EPIPE else {
            throw IOError(errno: result, "cannot connect")
        }
        // If no process listens, the socket may get the port that it connects to, and so reach itself.
        if isOneWithPeer(socket.rawValue) { throw IOError(errno: ECONNREFUSED, "cannot connect") }
        return socket
    }

    private static func error(_ number: Int32, of address: InternetAddress) -> IOError {
        let error = IOError(errno: number, "cannot connect")
        guard number == EADDRNOTAVAIL, address.sourceError != nil else { return error }
        return IOError(.systemCall, error.message, errno: number)
    }

    private static func isOneWithPeer(_ descriptor: Int32) -> Bool {
        func name(_ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) -> [UInt8]?
        {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let result = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(descriptor, $0, &length) }
            }
            return result == 0 ? withUnsafeBytes(of: storage) { Array($0.prefix(Int(length))) } : nil
        }
        guard let own = name({ getsockname($0, $1, $2) }) else { return false }
        return own == name { getpeername($0, $1, $2) }
    }
}

extension TCPSocket {
    /// Connects to the first address of a host that accepts; the host is a name or a numeric address.
    ///
    /// Each address gets an equal part of the time that is left.
    @EventLoop
    package static func connect(
        to host: String, port: UInt16, timeout: Duration
    ) async throws(IOError) -> OwnedDescriptor {
        let deadline = ContinuousClock.now + timeout
        let addresses = try await Resolver.lookUp(host, port: port, within: timeout)
        var failure = IOError(.notFound, "host not found: \(host)")
        for (index, address) in addresses.enumerated() {
            let share = (deadline - .now) / (addresses.count - index)
            do throws(IOError) {
                if let socket = try await connect(to: address, within: share) {
                    // Small messages are sent at once.
                    socket.turnOn(TCP_NODELAY, of: Int32(IPPROTO_TCP))
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
    package static func listen(
        at host: String, port: UInt16, backlog: Int32 = 128
    ) async throws(IOError) -> OwnedDescriptor {
        let addresses: [InternetAddress]
        do { addresses = try await Resolver.lookUp(host, port: port) } catch {
            throw IOError(.notFound, "\(error)")
        }
        guard let address = addresses.first else { throw IOError(.notFound, "host not found: \(host)") }
        let socket = try OwnedDescriptor.makeSocket(address.family, Int32(SOCK_STREAM.rawValue))
        // Old connections that are still being closed must not keep the port.
        socket.turnOn(SO_REUSEADDR)
        // Accepted connections inherit this: small messages are sent at once.
        socket.turnOn(TCP_NODELAY, of: Int32(IPPROTO_TCP))
        let failure = address.withSocketAddress {
            bind(socket.rawValue, $0, $1) == 0 && Glibc.listen(socket.rawValue, backlog) == 0 ? 0 : errno
        }
        guard failure == 0 else { throw IOError(errno: failure, "cannot listen at \(host):\(port)") }
        return socket
    }
}
