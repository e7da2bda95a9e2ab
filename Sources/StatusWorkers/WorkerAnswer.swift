// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// What a worker answers to a call.
public protocol WorkerAnswer: JSONReadable, Sendable {
    /// Whether the call could be carried out; if not, another worker may be able to.
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

    /// A worker that met what it did not expect may be about to end, and is not trusted with another request.
    public var leavesWorkerIdle: Bool { if case .expected = self { true } else { false } }
}
