// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import StatusWorkers

/// Runs plugins.
public typealias PluginPool = WorkerPool<PluginCall, PluginOutcome>

extension PluginPool {
    /// A pool of workers that run plugins.
    public convenience init(_ place: WorkerPlace) {
        // A worker ends its plugin, and what that has started, before it ends.
        self.init(
            WorkerStarter(place: place, role: .pluginWorker, purpose: "run plugins"), keepsTime: false,
            endsAtOnce: false)
    }
}
