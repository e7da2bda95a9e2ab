// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Looks up the addresses of hosts (getaddrinfo(3)), on a bounded number of threads.
package enum Resolver {
    @EventLoop private static let threads = BlockingThreads(limit: 128)

    /// Returns the addresses of a host, in the order in which to try them.
    ///
    /// A numeric address is parsed at once. Looking up a name takes as long as the system's resolver needs, and cannot
    /// be cancelled.
    ///
    /// - Throws: ``FailedLookUp``.
    package static func lookUp(_ host: String, port: UInt16) async throws -> [InternetAddress] {
        if let numeric = numericAddress(host, port: port) { return [numeric] }
        return try await threads.run { try resolve(host, port: port, flags: 0) }
    }

    /// Returns the addresses of a host; blocks as long as the system's resolver needs, which may be for ever.
    package static func lookUp(_ host: String) throws(FailedLookUp) -> [InternetAddress] {
        try resolve(host, port: 0, flags: 0)
    }

    /// Parses a numeric address, which may have a zone (`fe80::1%eth0`); nil if it is none.
    package static func numericAddress(_ host: String, port: UInt16) -> InternetAddress? {
        (try? resolve(host, port: port, flags: AI_NUMERICHOST))?.first
    }

    /// Does the same, but throws after `limit`; the lookup then continues without its caller.
    @EventLoop
    static func lookUp(_ host: String, port: UInt16, within limit: Duration) async throws(IOError) -> [InternetAddress]
    {
        let found = await TimedWait<Result<[InternetAddress], IOError>>.run(within: limit) { end in
            // Unstructured, because a lookup cannot be cancelled: it ends when the resolver has answered.
            Task {
                do {
                    end(.success(try await lookUp(host, port: port)))
                } catch {
                    end(.failure(IOError(.notFound, "\(error)")))
                }
            }
        }
        guard let found else { throw IOError(.timedOut, "cannot look up host \(host): no answer") }
        return try found.get()
    }

    private static func resolve(_ host: String, port: UInt16, flags: Int32) throws(FailedLookUp) -> [InternetAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &hints, &list)
        defer { freeaddrinfo(list) }
        guard failure == 0 else { throw FailedLookUp(host: host, failure) }
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap {
            $0.map {
                InternetAddress(
                    copying: UnsafeRawBufferPointer(start: $0.pointee.ai_addr, count: Int($0.pointee.ai_addrlen)))
            }
        }
    }
}

/// The address of a host could not be found.
package struct FailedLookUp: Error, Sendable, CustomStringConvertible {
    /// The reason, as one phrase.
    package let description: String

    /// `EAI_NODATA`, which the module Glibc lacks: the name has no address.
    private static let noData: Int32 = -5

    /// Creates the error from its description.
    package init(_ description: String) { self.description = description }

    /// Creates the error from a result of getaddrinfo(3).
    public init(host: String, _ failure: Int32) {
        let reason = String(cString: gai_strerror(failure))
        let doesNotExist = failure == EAI_NONAME || failure == Self.noData
        description = doesNotExist ? "host not found: \(host)" : "cannot look up host \(host): \(reason)"
    }

    /// Creates the error for a resolver that did not answer in time.
    package init(host: String, unansweredFor time: String) {
        description = "cannot look up host \(host): no answer within \(time)"
    }
}
