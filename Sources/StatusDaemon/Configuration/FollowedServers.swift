// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import StatusMonitor
import StatusStore

/// Which servers are followed and why: the state that a ``ReloadPlan`` begins and ends with.
struct FollowedServers {
    /// Servers of an earlier run that no configuration has claimed yet.
    struct Leftovers {
        /// The saved data of their sources.
        var sources: [ServerName: SourceMemory] = [:]
        /// A file that cannot be used and may configure these servers; nil before the first configuration.
        ///
        /// The servers are failed until the file is corrected.
        var file: String?
    }

    /// The source of a server that is not configured.
    static let unconfiguredSource = AnySourceSettings(PushSettings())

    var configuration = Configuration()
    /// The servers that are not configured, but were added by posts.
    var unconfigured: Set<ServerName> = []
    /// The unclaimed servers of an earlier run; nil once all files of a configuration can be used.
    ///
    /// Until then, an unusable file may still select the server that the earlier configuration selected.
    var leftovers: Leftovers?
    /// Whether the configured server has been selected, or a client has selected another one.
    var hasSelected = false
    /// Whether the selection follows the worst server (``WorstFollower``).
    var followsWorst = false

    /// Begins with no servers, or with the servers of an earlier run.
    init(restored: StoreContents) {
        guard restored.memory != nil else { return }
        // Those of other hosts are followed as long as any are.
        let ofOthers = Set(restored.memory?.servers.lazy.map(\.state).filter(\.isOfOtherHost).map(\.name) ?? [])
        leftovers = Leftovers(sources: restored.sources.filter { !ofOthers.contains($0.key) })
        // A selection is kept until the configuration selects another server.
        configuration.select = restored.configuredSelection
        hasSelected = true
        followsWorst = restored.followsWorst
    }

    /// Why a restored server is failed although it may be configured; nil if it is not such a server.
    func missingReason(of name: ServerName) -> String? {
        guard let leftovers, leftovers.sources[name] != nil, let file = leftovers.file else { return nil }
        return "it may be configured in \(file), which cannot be used; correct that file"
    }
}
