// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import Logging
public import StatusMonitor

/// What all sources share.
@EventLoop
public final class SourceEnvironment {
    /// Where sources find what they need.
    public struct Paths: Sendable {
        /// The directory of the notify sockets.
        public var notify: String
        /// The socket of the executor, which runs plugins; nil: this program runs them itself.
        public var executor: UnixAddress?

        /// Paths.
        public init(notify: String, executor: UnixAddress?) {
            self.notify = notify
            self.executor = executor
        }
    }

    /// Where statuses are posted.
    public let monitor: StatusMonitor
    /// How much of the machine all checks may use.
    public let budget: CheckBudget
    /// Where sources find what they need.
    public let paths: Paths
    /// What the daemon calls itself to HTTP servers.
    public let userAgent: String
    /// Where sources log.
    public let logger: Logger
    /// The accounts that the configuration is about.
    public var accounts = Accounts()
    /// Runs a check's schedule until its source is closed.
    let run: @EventLoop (CheckSource) -> Void
    private var shared: [ObjectIdentifier: any SharedResource] = [:]

    /// An environment in which nothing is shared yet.
    public init(
        monitor: StatusMonitor, budget: CheckBudget, paths: Paths, userAgent: String, logger: Logger,
        run: @escaping @EventLoop (CheckSource) -> Void
    ) {
        self.monitor = monitor
        self.budget = budget
        self.paths = paths
        self.userAgent = userAgent
        self.logger = logger
        self.run = run
    }

    /// The one resource of a type, which is made when it is first needed.
    public func shared<Resource: SharedResource>(_ type: Resource.Type) -> Resource {
        if let resource = shared[ObjectIdentifier(type)] as? Resource { return resource }
        let resource = Resource(in: self)
        shared[ObjectIdentifier(type)] = resource
        return resource
    }

    /// Closes everything that is shared, when no source runs any more.
    ///
    /// - Parameter limit: how long each may take.
    public func close(within limit: Duration) async {
        for resource in shared.values { await resource.close(within: limit) }
        shared = [:]
    }
}

/// What the sources of one kind share.
@EventLoop
public protocol SharedResource: AnyObject {
    /// Makes it; it does nothing before a source uses it.
    init(in environment: SourceEnvironment)

    /// Ends it, waiting so long at most; no source uses it any more.
    func close(within limit: Duration) async
}

extension SharedResource {
    public func close(within limit: Duration) async {}
}
