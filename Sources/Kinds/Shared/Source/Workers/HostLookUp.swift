// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusWorkers

/// The lookup of a check's host, in a worker: getaddrinfo(3) may never return, and cannot be cancelled.
struct HostLookUp: Sendable {
    private let host: String
    private let port: UInt16
    private let server: ServerName
    private let pool: WorkerPool<LookUpCall>

    @EventLoop init(_ host: String, port: UInt16 = 0, _ order: SourceOrder) {
        (self.host, self.port, server) = (host, port, order.server)
        pool = order.environment.shared(WorkerPool<LookUpCall>.self)
    }

    /// What a check of the host needs.
    var resource: CheckBudget.Resource { numericAddress == nil ? .request : .connection }

    private var numericAddress: InternetAddress? { Resolver.numericAddress(host, port: port) }

    /// Returns the addresses, in the order in which to try them.
    ///
    /// - Throws: ``FailedLookUp`` if the lookup fails or times out; ``CheckFailure`` if this host cannot begin it.
    func addresses(within limit: Duration) async throws -> [InternetAddress] {
        if let numericAddress { return [numericAddress] }
        do {
            guard let answer = try await pool.run(LookUpCall(host: host), of: server, within: limit) else {
                throw FailedLookUp(host: host, unansweredFor: TimeSpan.text(limit))
            }
            return try answer.addresses(port: port)
        } catch is WorkerLost {
            throw CheckFailure("the worker ended during the lookup of \(host)")
        } catch let error as StuckCheck {
            throw CheckFailure("\(error)")
        }
    }
}

extension LookUpCall: WorkerCall {
    typealias Answer = LookUpAnswer

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(place: .ownProgram, role: .lookUpWorker, purpose: "look up hosts")
    }
}
