// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import NotificationStreams
public import SourceKinds
import StatusModel

/// Refreshes the members of a group; their statuses make the group's, in the monitor.
@EventLoop
final class GroupSource: Source {
    private let members: [ServerName]
    private let loader: StatusLoader

    init(_ order: SourceOrder) {
        let (members, environment) = (order.refreshedMembers, order.environment)
        self.members = members
        loader = StatusLoader(of: order.server, monitor: environment.monitor) {
            await withDiscardingTaskGroup { group in
                for member in members {
                    let refresh: @EventLoop @Sendable () async -> Void = { await environment.refresh(member) }
                    group.addTask(name: "refresh of \(member)", operation: refresh)
                }
            }
            try Task.checkCancellation()
        }
    }

    var refreshAction: RefreshAction? { RefreshAction { [loader] in await loader.refresh() } }

    func close() { loader.close() }
}

extension GroupSettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        order.refreshedMembers.isEmpty ? nil : GroupSource(order)
    }
}
