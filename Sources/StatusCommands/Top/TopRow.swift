// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A row of `top`'s list.
struct TopRow {
    let id: TopServer
    /// The state to show.
    let server: ServerState
    /// Whether its host is away, so that the state may have changed.
    let isAway: Bool
    /// The name with its indentation; `web (+3)` is a group with three hidden members.
    let label: String
    /// What follows the status: a hidden member that is worse than its group.
    let note: String

    var name: ServerName { id.name }
}
