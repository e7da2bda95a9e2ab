// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import Logging
public import StatusModel
public import StatusMonitor

/// The resources that all sources share.
@EventLoop
public final class SourceEnvironment {
    public let monitor: StatusMonitor
    public let budget: CheckBudget
    let notifyDirectory: String
    /// The socket of the executor, which runs plugins; nil if child processes run them.
    let executor: UnixAddress?
    /// The daemon's user agent in HTTP requests.
    let userAgent: String
    let logger: Logger
    /// The users and groups that the configuration names.
    public var accounts = Accounts()
    /// Runs a check's schedule until its source is closed.
    let run: @EventLoop (CheckSource) -> Void
    /// Refreshes a member of a group, as if a client had requested it; returns when that has ended.
    public var refresh: @EventLoop (ServerName) async -> Void = { _ in }
    private var shared: [ObjectIdentifier: any SharedResource] = [:]

    /// Creates an environment without shared resources.
    public init(
        monitor: StatusMonitor, budget: CheckBudget, notifyDirectory: String, executor: UnixAddress?,
        userAgent: String, logger: Logger, run: @escaping @EventLoop (CheckSource) -> Void
    ) {
        self.monitor = monitor
        self.budget = budget
        self.notifyDirectory = notifyDirectory
        self.executor = executor
        self.userAgent = userAgent
        self.logger = logger
        self.run = run
    }

    /// Returns the resource of a type; it is created at its first use.
    public func shared<Resource: SharedResource>(_ type: Resource.Type) -> Resource {
        if let resource = shared[ObjectIdentifier(type)] as? Resource { return resource }
        let resource = Resource(in: self)
        shared[ObjectIdentifier(type)] = resource
        return resource
    }

    /// Closes all shared resources, after the last source.
    ///
    /// - Parameter limit: how long each of them may take.
    public func close(within limit: Duration) async {
        for resource in shared.values { await resource.close(within: limit) }
        shared = [:]
    }
}

/// A resource that sources share, such as the workers for one kind of call.
@EventLoop
public protocol SharedResource: AnyObject {
    /// Creates the resource; it does nothing before a source uses it.
    init(in environment: SourceEnvironment)

    /// Closes the resource, which no source uses any more; takes at most `limit`.
    func close(within limit: Duration) async
}

extension SharedResource {
    public func close(within limit: Duration) async {}
}
