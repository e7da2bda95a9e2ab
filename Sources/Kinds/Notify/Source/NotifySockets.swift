// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import SourceKinds
public import StatusModel

@EventLoop
public final class NotifySockets: SharedResource {
    /// The maximum number of sockets; the other descriptors are left for clients, checks and the daemon itself.
    private static let limit = OwnedDescriptor.limit / 4

    private unowned let environment: SourceEnvironment

    public init(in environment: SourceEnvironment) { self.environment = environment }

    /// Returns a server's notify socket: the open one with updated senders, or a new one.
    ///
    /// - Parameters:
    ///   - users: the names or IDs of users who may send, in addition to the usual ones.
    ///   - source: the server's previous source, open or closed.
    ///   - restored: the memory of an earlier run of the daemon, if any.
    /// - Throws: ``SourceProblem`` if the socket cannot be opened; then the previous source is closed.
    public func open(
        for server: ServerName, users: [String] = [], existing source: NotifySource? = nil,
        restored: RestoredSource? = nil
    ) throws(SourceProblem) -> NotifySource {
        do throws(IOError) {
            let access = try senders(users)
            if let source, source.isOpen {
                try source.open(for: access)
                return source
            }
            guard NotifySource.count < Self.limit else {
                throw IOError(
                    .exhausted,
                    "limit reached: \(Self.limit) notify sockets, a quarter of the descriptors; "
                        + "raise LimitNOFILE= of the service")
            }
            return try NotifySource(
                of: server, in: environment, for: access, predecessor: source, restored: restored)
        } catch {
            source?.close()
            throw SourceProblem(error.message)
        }
    }

    /// Whether exactly the usual users and these users can reach a socket.
    public func isCurrent(_ source: NotifySource, users: [String]) -> Bool {
        guard let access = try? senders(users) else { return false }
        return source.isReachable(for: access)
    }

    /// The users who may send: these users and those who may make changes.
    private func senders(_ users: [String]) throws(IOError) -> AccessPolicy {
        let numbers = try users.map { user throws(IOError) in
            guard let number = try environment.accounts.user(user) else {
                throw IOError(
                    .notFound, "unknown user “\(VisibleText.escape(user))”; create it and run “statusctl reload”")
            }
            return number
        }
        return environment.accounts.access.allowing(users: numbers)
    }
}

extension NotifySettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        try order.environment.shared(NotifySockets.self)
            .open(
                for: order.server, users: users, existing: order.predecessor as? NotifySource, restored: order.restored)
    }

    /// Keeps an open notify socket, so that senders always find it.
    public static func takesOver(_ predecessor: any Source) -> Bool { predecessor is NotifySource }
}
