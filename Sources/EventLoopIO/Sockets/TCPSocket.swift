// SPDX-License-Identifier: Apache-2.0

import Glibc

/// TCP sockets, all close-on-exec and non-blocking.
public enum TCPSocket {
    /// Connects; nil on a timeout or if the task is cancelled.
    @EventLoop
    public static func connect(
        to address: InternetAddress, within limit: Duration = .seconds(3600)
    ) async throws(IOError) -> OwnedDescriptor? {
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, flags, 0)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot create a socket") }
        let socket = OwnedDescriptor(adopting: descriptor)
        let failure = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        if failure == 0 { return socket }
        guard failure == EINPROGRESS else { throw error(failure, of: address) }
        guard try await IOSource.wait(for: .writable, of: socket, within: limit) else { return nil }
        var result: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &result, &length)
        // A peer that refuses causes ECONNREFUSED; one that resets has accepted before.
        guard result == 0 || result == ECONNRESET || result == EPIPE else {
            throw IOError(errno: result, "cannot connect")
        }
        // A socket may get the very port it connects to if no process listens there, and so reach itself.
        if isOneWithPeer(descriptor) { throw IOError(errno: ECONNREFUSED, "cannot connect") }
        return socket
    }

    private static func error(_ number: Int32, of address: InternetAddress) -> IOError {
        let error = IOError(errno: number, "cannot connect")
        guard number == EADDRNOTAVAIL, !address.hasSource else { return error }
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
