// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension AlertMachine {
    /// What a receiver's knowledge of a server comes to.
    enum Verdict: Equatable {
        /// It is not told about the server.
        case foreign
        /// It knows the level; from this time on, an open problem is told again.
        case settled(reminder: Duration?)
        /// It does not want to know the level.
        case unwanted
        case due(Alert.Kind)
        case held(Hold)
    }

    /// Decides whether a server's level is due.
    func verdict(on receiver: Receiver, of key: AlertKey, at now: Duration) -> Verdict {
        let told = told(key)
        guard let server = servers[key.server], server.rule.isOn,
            receiver.settings.covers(key.server, isConfigured: server.rule.isConfigured)
        else { return told.id == nil ? .foreign : .due(.removed) }
        guard let level = server.level else { return verdict(onSilent: server, told, at: now) }
        let kind: Alert.Kind
        if level != told.level || told.isOutdated {
            kind = level == .ok ? .recovery : .problem
        } else {
            guard told.id != nil, let pause = receiver.settings.repetition, receiver.settings.levels.contains(level)
            else { return .settled(reminder: nil) }
            guard now >= told.toldAt + pause else { return .settled(reminder: told.toldAt + pause) }
            kind = .reminder
        }
        let since = level == .ok || told.id != nil ? server.since.boot : server.since(in: receiver.settings.levels)
        if let hold = hold(on: server, key.server, level, since: since, at: now) { return .held(hold) }
        let isWanted = level == .ok ? told.id != nil : receiver.settings.levels.contains(level)
        return isWanted ? .due(kind) : .unwanted
    }

    /// Decides about a server without a status, such as one whose source has changed.
    ///
    /// A check finds one soon. Of another server nothing is known any more, so an open problem is withdrawn.
    private func verdict(onSilent server: Server, _ told: Told, at now: Duration) -> Verdict {
        if told.id == nil || server.rule.isChecked { return .settled(reminder: nil) }
        if server.isSilenced { return .held(.silenced) }
        let time = server.since.boot + Self.startHold
        return now < time ? .held(.until(time)) : .due(.removed)
    }

    private func hold(
        on server: Server, _ name: ServerName, _ level: Level, since: Duration, at now: Duration
    ) -> Hold? {
        if server.isSilenced { return .silenced }
        if let parent = firstDown(above: name) { return .parent(parent) }
        let time = max(
            since + (level == .ok ? server.rule.clear : server.rule.after),
            server.rule.isChecked ? .zero : server.heldUntil)
        if now < time { return .until(time) }
        if server.mustRecheck != nil { return .result(name) }
        guard level != .ok else { return nil }
        return firstUnchecked(above: name, since: server.since.boot).map { .result($0) }
    }

    /// The nearest server that is down and without which this one cannot be reached.
    private func firstDown(above name: ServerName) -> ServerName? { ancestors(of: name) { $0.isDown } }

    /// The nearest server above this one without a result that is newer than a problem of this one.
    ///
    /// It may be down too, and would only be checked later.
    private func firstUnchecked(above name: ServerName, since: Duration) -> ServerName? {
        ancestors(of: name) { $0.rule.isChecked && ($0.resultAt < since || $0.mustRecheck != nil) }
    }

    private func ancestors(of name: ServerName, first condition: (Server) -> Bool) -> ServerName? {
        var (next, seen) = (servers[name]?.rule.parent, Set([name]))
        while let parent = next, seen.insert(parent).inserted, let server = servers[parent] {
            if condition(server) { return parent }
            next = server.rule.parent
        }
        return nil
    }

    // MARK: Reports

    /// What a receiver does not know yet, sorted by name.
    public func untold(_ name: String, at now: Duration) -> [Untold] {
        guard let receiver = receivers[name] else { return [] }
        return open.sorted().compactMap { untold($0, to: receiver, name, at: now) }
    }

    /// The numbers of servers of which a receiver must be told now, and for which that is held.
    public func untoldCounts(_ name: String, at now: Duration) -> (due: Int, held: Int) {
        guard let receiver = receivers[name] else { return (0, 0) }
        return open.reduce(into: (due: 0, held: 0)) { counts, server in
            guard let untold = untold(server, to: receiver, name, at: now) else { return }
            if untold.hold == nil { counts.due += 1 } else { counts.held += 1 }
        }
    }

    /// What a receiver does not know yet of a server; nil if it knows all, or does not want to know.
    private func untold(_ server: ServerName, to receiver: Receiver, _ name: String, at now: Duration) -> Untold? {
        switch verdict(on: receiver, of: AlertKey(name, server), at: now) {
        case .foreign, .settled, .unwanted: nil
        case .due: Untold(server: server, level: servers[server]?.level, hold: nil)
        case .held(let hold):
            // A level that nobody wants is no news.
            isWanted(server, by: name) ? Untold(server: server, level: servers[server]?.level, hold: hold) : nil
        }
    }

    private func isWanted(_ server: ServerName, by receiver: String) -> Bool {
        guard let level = servers[server]?.level, level != .ok else {
            return told(AlertKey(receiver, server)).id != nil
        }
        return receivers[receiver]?.settings.levels.contains(level) ?? false
    }

    /// How a receiver's deliveries go: the number that failed in a row, when the next one may begin, and whether one is
    /// running.
    public func deliveries(to name: String) -> (failures: Int, nextAttempt: Duration?, isRunning: Bool) {
        guard let receiver = receivers[name] else { return (0, nil, false) }
        let isRunning = receiver.sending != nil
        let isWaiting = receiver.failures > 0 && !isRunning
        return (receiver.failures, isWaiting ? receiver.nextAttempt : nil, isRunning)
    }

    // MARK: Actions

    /// The actions that are due, and when to call this again if nothing happens before; nil for never.
    public mutating func advance(to now: Duration) -> (actions: [Action], next: Duration?) {
        var actions: [Action] = []
        var times: [Duration] = []
        var due: [String: [(ServerName, Alert.Kind)]] = [:]
        pending.formUnion(wakes.take(upTo: now))
        for name in pending.sorted() {
            var (isOpen, isPending) = (false, false)
            for (receiver, state) in receivers {
                if state.isSending(name) {
                    (isOpen, isPending) = (true, true)
                    continue
                }
                switch verdict(on: state, of: AlertKey(receiver, name), at: now) {
                case .settled(let reminder):
                    if let reminder { wakes.note(reminder, for: name) }
                    isOpen = isOpen || reminder != nil
                    continue
                case .foreign:
                    set(nil, for: AlertKey(receiver, name))
                    continue
                case .unwanted:
                    pass(AlertKey(receiver, name))
                    continue
                case .due(let kind):
                    due[receiver, default: []].append((name, kind))
                    isPending = true
                case .held(.until(let time)): wakes.note(time, for: name)
                case .held(.result(let server)): if let action = recheck(server, at: now) { actions.append(action) }
                case .held: break
                }
                isOpen = true
            }
            if !isOpen { settle(name) }
            if !isPending { pending.remove(name) }
        }
        if let time = wakes.first { times.append(time) }
        for receiver in receivers.keys.sorted() {
            actions += deliver(due[receiver] ?? [], to: receiver, at: now, &times)
        }
        return (actions, times.min())
    }

    /// Notes that a receiver is not told of a level, because it does not want to know it.
    private mutating func pass(_ key: AlertKey) {
        var told = told(key)
        guard told.id != nil else { return }
        told.isOutdated = true
        set(told, for: key)
    }

    private mutating func recheck(_ name: ServerName, at now: Duration) -> Action? {
        guard let server = servers[name], server.recheckedAt == nil else { return nil }
        servers[name]?.recheckedAt = now
        return .recheck(name)
    }
}
