// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor

/// The steps from the followed servers to a new configuration.
///
/// A dry run only makes the plan; a reload also carries it out (``ServerRegistry/apply(_:)``).
struct ReloadPlan {
    enum Step: Equatable {
        case add
        /// The server is from an earlier run and is configured.
        case adopt(SourceMemory)
        /// The configuration of the server changed; this was its source before.
        case change(from: AnySourceSettings?)
        /// The server is from an earlier run; it stays although it is not configured.
        case keep(SourceMemory)
        /// The server is from an earlier run; a file that cannot be used may configure it.
        case wait
        case remove
    }

    let read: ReadConfiguration
    /// The selected server before the steps.
    let selected: ServerName?
    /// The steps by server; a server without a step stays as it is.
    let steps: [ServerName: Step]
    /// The servers after the steps, before the configured server is selected.
    private(set) var servers: FollowedServers
    /// The reply that reports the steps, and the selection after them.
    private(set) var reply = MonitorInterface.ReloadReply(added: [], changed: [], removed: [], failed: [], warnings: [])

    /// Compares the followed servers, one of which may be selected, with a new configuration.
    init(from old: FollowedServers, selected: ServerName?, to read: ReadConfiguration) {
        self.read = read
        self.selected = selected
        servers = old
        servers.configuration = read.configuration
        if old.leftovers != nil, read.failedFile != nil { servers.configuration.select = old.configuration.select }
        steps = Self.steps(from: old, to: servers.configuration, read.failedFile)
        takeSteps(from: old)
        let removed = servers.configuration.renamedServers.filter { steps[$0.key] == .remove }
        renamed = removed.filter { steps[$0.value] == .add }
        successor = selected.flatMap { renamed[$0] }
        for (former, present) in removed.sorted(by: { $0.key < $1.key }) where renamed[former] == nil {
            overlaps.append((former, present))
        }
        report(from: old)
    }

    private static func steps(
        from old: FollowedServers, to new: Configuration, _ failedFile: String?
    ) -> [ServerName: Step] {
        var steps: [ServerName: Step] = [:]
        let leftovers = old.leftovers?.sources ?? [:]
        for name in old.configuration.servers.keys where new.servers[name] == nil { steps[name] = .remove }
        for name in old.unconfigured where !new.acceptsAny && new.servers[name] == nil { steps[name] = .remove }
        for (name, memory) in leftovers where new.servers[name] == nil {
            steps[name] = memory.isGuest && new.acceptsAny ? .keep(memory) : failedFile == nil ? .remove : .wait
        }
        for (name, server) in new.servers {
            if let before = old.configuration.servers[name] {
                if !before.isSame(as: server) { steps[name] = .change(from: before.source) }
            } else if old.unconfigured.contains(name) {
                steps[name] = .change(from: FollowedServers.unconfiguredSource)
            } else {
                steps[name] = leftovers[name].map { .adopt($0) } ?? .add
            }
        }
        return steps
    }

    private mutating func takeSteps(from old: FollowedServers) {
        let select = servers.configuration.select
        // The administrator's new choice overrides a selection that a client made since.
        if select != old.configuration.select {
            servers.hasSelected = false
            if old.configuration.select == .worst { servers.followsWorst = false }
        }
        var waiting: [ServerName: SourceMemory] = [:]
        for (name, step) in steps {
            switch step {
            case .add, .adopt, .change: servers.unconfigured.remove(name)
            case .keep: servers.unconfigured.insert(name)
            case .wait: waiting[name] = old.leftovers?.sources[name]
            case .remove:
                servers.unconfigured.remove(name)
                // The configured server is selected again if it comes back, or if it replaces one of an earlier run.
                if name == selected, name == select || old.leftovers?.sources[name] != nil {
                    servers.hasSelected = false
                }
            }
        }
        servers.leftovers = old.leftovers.flatMap { _ in
            read.failedFile.map { FollowedServers.Leftovers(sources: waiting, file: $0) }
        }
        if !servers.hasSelected, select == .worst, !exists(.worst) {
            (servers.hasSelected, servers.followsWorst) = (true, true)
        }
    }

    /// The new names of the servers that are renamed.
    private(set) var renamed: [ServerName: ServerName] = [:]
    /// Servers with a `was` that has no effect, because they existed beside the former one.
    private var overlaps: [(former: ServerName, present: ServerName)] = []
    /// A warning that servers are removed because they are not configured.
    private(set) var refusal: Problem?
    /// The new name of a selected server that is renamed; nil if it is not.
    private(set) var successor: ServerName?

    /// The steps in order: removals make room first.
    var inOrder: [(name: ServerName, step: Step)] {
        let sorted = steps.sorted { $0.key < $1.key }.map { (name: $0.key, step: $0.value) }
        return sorted.filter { $0.step == .remove } + sorted.filter { $0.step != .remove }
    }

    // MARK: The report

    private mutating func report(from old: FollowedServers) {
        for (name, step) in inOrder {
            switch step {
            case .add: reply.added.append(name.rawValue)
            case .adopt, .change: reply.changed.append(name.rawValue)
            case .remove: reply.removed.append(name.rawValue)
            case .keep, .wait: break
            }
        }
        let configuration = servers.configuration
        let choice = servers.hasSelected ? nil : configuration.select
        let next =
            choice.flatMap { exists($0) ? $0 : nil } ?? successor
            ?? selected.flatMap { steps[$0] == .remove ? nil : $0 }
        if next != selected { reply.selected = next?.rawValue }
        if next == nil { reply.deselected = selected?.rawValue }
        reply.failed = read.errors.map(MonitorInterface.Failure.init)
        reply.warnings = read.warnings.map(MonitorInterface.Failure.init)
        let refused = steps.filter { $0.value == .remove && renamed[$0.key] == nil }.keys.filter { name in
            old.unconfigured.contains(name) || old.leftovers?.sources[name]?.isGuest == true
        }
        refusal = refusal(of: refused.sorted())
        if let refusal { reply.warnings?.append(MonitorInterface.Failure(refusal)) }
        for (former, present) in overlaps {
            guard let origin = configuration.servers[present]?.origin else { continue }
            reply.warnings?.append(
                MonitorInterface.Failure(
                    file: origin.file, line: origin.line, server: present.rawValue,
                    reason: "“was: \(former)” has no effect, because \(present) existed beside \(former)"))
        }
        if configuration.select != old.configuration.select {
            // If clients cannot add servers, reading the configuration has already given a warning.
            guard let choice, !exists(choice), configuration.acceptsAny else { return }
            warn(about: choice, "takes effect with the first post of that server, which does not exist yet")
        } else if let file = servers.leftovers?.file, let choice = read.configuration.select,
            choice != configuration.select
        {
            warn(about: choice, "takes effect once \(file) is corrected, because that file may select another server")
        }
    }

    /// The warning that servers are removed only because posts no longer add servers; nil if there are none.
    private func refusal(of names: [ServerName]) -> Problem? {
        guard !names.isEmpty,
            let origin = servers.configuration.servers.values.map(\.origin).min(by: { $0.file < $1.file })
        else { return nil }
        let some = names.prefix(3).map(\.rawValue).joined(separator: ", ") + (names.count > 3 ? " and others" : "")
        return Problem(
            .warning, at: Origin(file: origin.file),
            reason: "removes servers that programs had posted (\(some)), because only configured servers accept posts "
                + "now; add “accept: any” to keep them")
    }

    private func exists(_ name: ServerName) -> Bool {
        servers.configuration.servers[name] != nil || servers.unconfigured.contains(name)
            || servers.leftovers?.sources[name] != nil
    }

    private mutating func warn(about choice: ServerName, _ effect: String) {
        guard let origin = read.configuration.selectOrigin else { return }
        reply.warnings?.append(
            MonitorInterface.Failure(
                file: origin.file, line: origin.line, server: nil, reason: "“select: \(choice)” \(effect)"))
    }
}

extension ServerConfiguration {
    /// Whether the configurations are equal, apart from file and line, and from what concerns no source.
    fileprivate func isSame(as other: ServerConfiguration) -> Bool {
        var moved = other
        (moved.origin, moved.formerName, moved.alert) = (origin, formerName, alert)
        return self == moved
    }
}

extension MonitorInterface.Failure {
    init(_ problem: Problem) {
        self.init(
            file: problem.origin.file, line: problem.origin.line, server: problem.server?.rawValue,
            reason: problem.reason)
    }
}
