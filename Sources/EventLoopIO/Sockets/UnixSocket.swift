// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Unix sockets, all close-on-exec and non-blocking.
package enum UnixSocket {
    private static let stream = Int32(SOCK_STREAM.rawValue)
    private static let datagram = Int32(SOCK_DGRAM.rawValue)

    /// Creates a stream socket that listens at `path`.
    ///
    /// It replaces a socket without a listener, and removes nothing else. Two processes that do this at the same time
    /// may not notice each other, so they need a lock (``FileLock``).
    ///
    /// - Parameters:
    ///   - path: the path of the socket.
    ///   - mode: who may connect, as file permissions.
    ///   - backlog: how many connections may wait to be accepted.
    /// - Throws: ``IOError/Code/addressInUse`` if a living process listens there, ``IOError/Code/notASocket`` if the
    ///   file is not a socket, or an error of the file system.
    package static func listen(at path: String, mode: UInt32, backlog: Int32 = 128) throws(IOError)
        -> OwnedDescriptor
    {
        try removeDead(path, type: stream)
        let socket = try bind(path, type: stream, mode: mode)
        guard Glibc.listen(socket.rawValue, backlog) == 0 else {
            throw IOError(errno: errno, "cannot listen at \(path)")
        }
        return socket
    }

    /// Creates a stream socket that listens in the abstract namespace, where every user can connect.
    ///
    /// - Throws: ``IOError/Code/addressInUse`` if another socket has the name.
    package static func listen(atAbstract name: String, backlog: Int32 = 128) throws(IOError) -> OwnedDescriptor {
        let socket = try make(stream)
        let failure = try UnixAddress.abstract(name).withSocketAddress {
            Glibc.bind(socket.rawValue, $0, $1) == 0 && Glibc.listen(socket.rawValue, backlog) == 0 ? 0 : errno
        }
        guard failure == 0 else { throw IOError(errno: failure, "cannot listen at @\(name)") }
        return socket
    }

    /// Returns the path that a listener is bound to.
    package static func path(of listener: OwnedDescriptor) throws(IOError) -> String {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout.size(ofValue: address))
        let failure = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener.rawValue, $0, &size) }
        }
        guard failure == 0 else { throw IOError(errno: errno, "cannot find the path of a socket") }
        let end = Int(size) - (MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 0)
        return withUnsafeBytes(of: &address.sun_path) { bytes in
            String(decoding: bytes.prefix(max(0, end)).prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// Returns who may connect to the socket at `path`, as permissions for a file of this process's user and group.
    package static func mode(of path: String) throws(IOError) -> UInt32 {
        var status = stat()
        guard stat(path, &status) == 0 else { throw IOError(errno: errno, "cannot access \(path)") }
        let others = status.st_mode & 0o006
        let group = status.st_gid == getegid() ? status.st_mode & 0o060 : others << 3
        return 0o600 | group | others
    }

    /// Creates a datagram socket bound to `path`, by the same rules as ``listen(at:mode:backlog:)``.
    ///
    /// - Parameters:
    ///   - path: the path of the socket.
    ///   - restrict: sets who may send to the file at a path. Before it is called, only this process's user may.
    package static func bindDatagram(
        at path: String, restrict: (_ path: String) throws(IOError) -> Void
    ) throws(IOError) -> OwnedDescriptor {
        try removeDead(path, type: datagram)
        let socket = try bind(path, type: datagram, mode: 0o600)
        do throws(IOError) {
            try restrict(path)
        } catch {
            unlink(path)
            throw error
        }
        return socket
    }

    /// Creates a datagram socket that replaces this process's socket at `path`, so that a sender always finds one.
    ///
    /// The kernel keeps the name that the new socket was bound with: `path` and a tilde.
    package static func replaceDatagram(
        at path: String, restrict: (_ path: String) throws(IOError) -> Void
    ) throws(IOError) -> OwnedDescriptor {
        let temporary = path + "~"
        let socket = try bindDatagram(at: temporary, restrict: restrict)
        guard rename(temporary, path) == 0 else {
            let failure = errno
            unlink(temporary)
            throw IOError(errno: failure, "cannot replace the socket \(path)")
        }
        return socket
    }

    /// Creates a datagram socket for ``send(_:to:from:)``.
    package static func makeSender() throws(IOError) -> OwnedDescriptor { try make(datagram) }

    /// Whether a process receives datagrams at a path, or will be started by one.
    package static func hasReceiver(at path: String) throws(IOError) -> Bool {
        let failure = try connect(make(datagram), to: .path(path))
        return failure != ENOENT && failure != ECONNREFUSED
    }

    /// Sends one datagram without waiting, from a socket or from a new one.
    ///
    /// - Throws: ``IOError/Code/timedOut`` if the receiver's queue is full.
    package static func send(
        _ bytes: [UInt8], to address: UnixAddress, from sender: OwnedDescriptor? = nil
    ) throws(IOError) {
        let socket = if let sender { sender } else { try make(datagram) }
        let failure = try address.withSocketAddress {
            let sent = sendto(socket.rawValue, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), $0, $1)
            return sent < 0 ? errno : 0
        }
        guard failure == 0 else { throw IOError(errno: failure, "cannot send to \(address)") }
    }

    /// Creates two stream sockets that are connected to each other.
    package static func makePair() throws(IOError) -> (OwnedDescriptor, OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        let type = stream | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw IOError(errno: errno, "cannot create a socket pair")
        }
        return (OwnedDescriptor(adopting: ends[0]), OwnedDescriptor(adopting: ends[1]))
    }

    /// Creates a stream socket connected to `address`.
    ///
    /// It waits up to `timeout` while the listener's backlog is full. It waits on its own thread, because a full
    /// backlog cannot be polled and the kernel wakes waiting threads in order.
    package static func connect(
        to address: UnixAddress, timeout: Duration = .seconds(5)
    ) async throws(IOError) -> OwnedDescriptor {
        let socket = try make(stream)
        var failure = try connect(socket, to: address)
        if failure == EAGAIN, timeout > .zero {
            failure =
                await BlockingThread.run(within: timeout) { wait(for: timeout, toConnect: socket, to: address) }
                ?? EAGAIN
        }
        guard failure == 0 else { throw IOError(errno: failure, "cannot connect to \(address)") }
        return socket
    }

    /// Accepts a connection; nil if none is waiting.
    ///
    /// - Parameter listener: the listening socket.
    /// - Throws: ``IOError/Code/exhausted`` if only the ``OwnedDescriptor/reserve`` of descriptors is left; the caller
    ///   must then pause.
    package static func accept(_ listener: Int32) throws(IOError) -> OwnedDescriptor? {
        if OwnedDescriptor.isInReserve(nextTo: listener) {
            throw IOError(errno: EMFILE, "cannot accept a connection")
        }
        while true {
            let descriptor = accept4(
                listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue))
            if descriptor >= 0 {
                // Without this, recvmsg(2) skips an out-of-band byte, and closes the descriptors that came with it.
                let connection = OwnedDescriptor(adopting: descriptor)
                connection.turnOn(SO_OOBINLINE)
                return connection
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            default: throw IOError(errno: errno, "cannot accept a connection")
            }
        }
    }

    // MARK: -

    /// Connects; returns the `errno` of connect(2), or 0.
    private static func connect(_ socket: OwnedDescriptor, to address: UnixAddress) throws(IOError) -> Int32 {
        try address.withSocketAddress { Glibc.connect(socket.rawValue, $0, $1) == 0 ? 0 : errno }
    }

    /// Connects, and waits for room in the backlog; returns `EAGAIN` on a timeout, else connect(2)'s result.
    private static func wait(for limit: Duration, toConnect socket: OwnedDescriptor, to address: UnixAddress) -> Int32 {
        let flags = fcntl(socket.rawValue, F_GETFL)
        _ = fcntl(socket.rawValue, F_SETFL, flags & ~O_NONBLOCK)
        defer { _ = fcntl(socket.rawValue, F_SETFL, flags) }
        let end = ContinuousClock.now + limit
        while true {
            socket.setSendTimeout(max(end - .now, .microseconds(1)))
            let failure = (try? connect(socket, to: address)) ?? EINVAL
            // The process was stopped and has been continued.
            guard failure == EINTR else { return failure }
        }
    }

    private static func make(_ type: Int32, receives: Bool = false) throws(IOError) -> OwnedDescriptor {
        let socket = try OwnedDescriptor.makeSocket(AF_UNIX, type)
        // Before it is bound, so that the sender of each datagram is known.
        if receives, !socket.turnOn(SO_PASSCRED) { throw IOError(errno: errno, "cannot receive") }
        return socket
    }

    private static func bind(_ path: String, type: Int32, mode: UInt32) throws(IOError) -> OwnedDescriptor {
        let socket = try make(type, receives: type == datagram)
        // The mode of a socket's descriptor, less the umask, becomes the mode of its file (Linux), so it is never
        // wider.
        guard fchmod(socket.rawValue, mode) == 0 else { throw IOError(errno: errno, "cannot set the mode of \(path)") }
        let failure = try UnixAddress.path(path).withSocketAddress {
            Glibc.bind(socket.rawValue, $0, $1) == 0 ? 0 : errno
        }
        guard failure == 0 else { throw IOError(errno: failure, "cannot create the socket \(path)") }
        guard chmod(path, mode) == 0 else { throw IOError(errno: errno, "cannot set the mode of \(path)") }
        return socket
    }

    /// Whether the process that listens at a connected socket's other end has ended.
    private static func hasEndedListener(_ connection: OwnedDescriptor) -> Bool {
        guard let credentials = try? PeerCredentials(ofConnected: connection.rawValue) else { return false }
        return credentials.processID > 0 && ProcessStatus.isZombie(credentials.processID)
    }

    /// Removes a socket without a listener.
    private static func removeDead(_ path: String, type: Int32) throws(IOError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw IOError(.notASocket, "\(path) is not a socket; remove it, or use another directory")
        }
        let probe = try make(type)
        let failure = try connect(probe, to: .path(path))
        // A refused connection means no listener. A full backlog or a socket of the other type means that there is one.
        let isDead = failure == 0 ? hasEndedListener(probe) : failure == ECONNREFUSED || failure == ENOENT
        guard isDead else {
            throw IOError(.addressInUse, "\(path) is in use by another process; stop that process first")
        }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw IOError(errno: errno, "cannot replace the unused socket \(path)")
        }
    }
}
