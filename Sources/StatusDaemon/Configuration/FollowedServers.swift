// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import StatusMonitor
import StatusStore

/// Which servers are followed and why: the state that a ``ReloadPlan`` begins and ends with.
struct FollowedServers {
    /// What an earlier run of the daemon has left of servers that no configuration has claimed yet.
    struct Leftovers {
        /// Their sources.
        var sources: [ServerName: SourceMemory] = [:]
        /// A file that cannot be used, and may configure them; nil before the first configuration.
        ///
        /// They are failed until it is corrected.
        var file: String?
    }

    /// The source of a server that is not configured.
    static let unconfiguredSource = AnySourceSettings(PushSettings())

    /// The configuration in effect.
    var configuration = Configuration()
    /// The servers that are not configured, but were added by posts.
    var unconfigured: Set<ServerName> = []
    /// Nil after the first configuration whose files can all be used.
    ///
    /// Until then, a file whose content is not known may select the server that the earlier run's configuration
    /// selected.
    var leftovers: Leftovers?
    /// Whether the configuration's choice has been selected, or has been overridden.
    var hasSelected = false

    /// No server, or those of an earlier run.
    init(restored: StoreContents) {
        guard restored.memory != nil else { return }
        leftovers = Leftovers(sources: restored.sources)
        // A selection is kept until the configuration selects another server.
        configuration.select = restored.configuredSelection
        hasSelected = true
    }

    /// Why a restored server is not followed although it may be configured; nil if that is not so.
    func missingReason(of name: ServerName) -> String? {
        guard let leftovers, leftovers.sources[name] != nil, let file = leftovers.file else { return nil }
        return "it is not configured now; correct \(file), which may configure it"
    }
}
