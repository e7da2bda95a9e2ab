// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

extension NotifySettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        try order.environment.shared(NotifySockets.self)
            .open(for: order.server, users: users, existing: order.predecessor as? NotifySource)
    }

    /// A notify socket stays open, so that senders always find it.
    public static func takesOver(_ predecessor: any Source) -> Bool { predecessor is NotifySource }
}
