// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusWorkers
import Varlink

/// A call that workers carry out, such as a run of a plugin.
///
/// All source kinds that make such calls share one pool of workers: `environment.shared(WorkerPool<Call>.self)`.
protocol WorkerCall: JSONWritable, Sendable {
    /// A worker's answer to the call.
    associatedtype Answer: WorkerAnswer
    /// Starts the workers that carry out such calls.
    @EventLoop static func workers(in environment: SourceEnvironment) -> WorkerStarter
}
