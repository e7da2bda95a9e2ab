// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// The answer of a worker to a call.
public protocol WorkerAnswer: JSONReadable, Sendable {
    /// Whether the call was carried out; if not, another worker may be able to.
    var isFinal: Bool { get }
    /// Whether the worker takes another call.
    var leavesWorkerIdle: Bool { get }
}

extension PluginOutcome: WorkerAnswer {
    public var isFinal: Bool { if case .notStarted = ending { false } else { true } }

    public var leavesWorkerIdle: Bool { !leavesProcesses }
}

extension HTTPOutcome: WorkerAnswer {
    public var isFinal: Bool { true }

    /// A worker that met something unexpected may be about to end, and gets no other request.
    public var leavesWorkerIdle: Bool { if case .expected = self { true } else { false } }
}
