// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// What other hosts report.
///
/// Reports may come late, twice, or in another order. Of two reports of a host, the one with the lower epoch is
/// dropped; of two reports of a server, the one with the lower epoch, or else the lower revision. A server is current
/// only while its host is ready in the epoch in which the server was reported.
extension Ledger {
    // MARK: Hosts

    /// Takes what a host says of itself; returns nil if the report is late.
    ///
    /// The caller then calls ``showCurrency(of:)`` for the host's servers.
    ///
    /// - Parameter limit: the maximum number of hosts that may be added.
    mutating func hear(
        _ report: HostReport, of host: ServerName, limit: Int, at now: Moment
    ) throws(HostReportError) -> Effects? {
        guard var entry = hosts.entries[host] else {
            guard limit > 0 else { throw .full(limit: limit) }
            hosts.entries[host] = HostTable.Entry(
                report: report, isOver: report.state != .ready, since: now.wall, heardAt: now, pass: hosts.pass,
                isOwn: host == hosts.own)
            return show(host, at: now).followed(by: Effects(revision: log.latest, expiry: noteHostExpiry(of: host)))
        }
        let isOther = report.machine.map { entry.report.machine ?? $0 != $0 } ?? false
        if isOther, entry.isReady { throw .otherMachine(host) }
        guard report.epoch > entry.report.epoch || report.epoch == entry.report.epoch && !entry.isOver else {
            hosts.entries[host]?.pass = hosts.pass
            return nil
        }
        entry.pass = hosts.pass
        // What the broker has kept since does not tell that the host is still there.
        if !report.isLive, report.state == .ready, report.epoch == entry.report.epoch {
            hosts.entries[host] = entry
            return nil
        }
        if report.state != entry.report.state { entry.since = now.wall }
        let version = report.version ?? entry.report.version
        let difference = entry.clockDifference(with: report.clockDifference)
        if let measured = report.clockDifference { entry.lastDifference = measured }
        (entry.report, entry.isOver, entry.heardAt) = (report, report.state != .ready, now)
        (entry.report.version, entry.report.clockDifference) = (version, difference)
        hosts.entries[host] = entry
        return show(host, at: now).followed(by: Effects(revision: log.latest, expiry: noteHostExpiry(of: host)))
    }

    /// Names this host; returns when to check whether it has reported.
    mutating func setOwnHost(_ name: ServerName?, at now: Moment) -> Duration? {
        guard name != hosts.own else { return nil }
        hosts.own = name
        hosts.ownDue = name.flatMap { hosts.entries[$0] == nil ? now.boot + HostTable.longestSilenceOfOwn : nil }
        return hosts.ownDue
    }

    /// The hosts that have been silent for too long, and the time of the next check.
    ///
    /// The caller notes each of them with ``lose(_:at:)``.
    mutating func silentHosts(at now: Moment, limit: Int) -> (names: [ServerName], next: Duration?) {
        var names: [ServerName] = []
        nextHostExpiry = hosts.ownDue
        if let own = hosts.own, let due = hosts.ownDue, due <= now.boot {
            (hosts.ownDue, nextHostExpiry) = (nil, nil)
            // It was never heard since it was named.
            if hosts.entries[own] == nil {
                let named = Moment(wall: now.wall, boot: due - HostTable.longestSilenceOfOwn)
                hosts.entries[own] = HostTable.Entry(
                    report: HostReport(state: .ready, epoch: -1), since: now.wall, heardAt: named, pass: hosts.pass,
                    isOwn: true)
            }
        }
        for (name, entry) in hosts.entries where entry.isReady {
            if entry.expiry <= now.boot, names.count < limit {
                names.append(name)
            } else {
                nextHostExpiry = min(entry.expiry, nextHostExpiry ?? entry.expiry)
            }
        }
        return (names, nextHostExpiry)
    }

    /// Notes that a host has been silent for too long; it may be heard again in the same epoch.
    mutating func lose(_ host: ServerName, at now: Moment) -> Effects? {
        guard hosts.entries[host]?.isReady == true else { return nil }
        hosts.entries[host]?.report.state = .lost
        hosts.entries[host]?.since = now.wall
        return show(host, at: now)
    }

    /// Shows a host as a server of its name, unless a server of that name is configured.
    private mutating func show(_ host: ServerName, at now: Moment) -> Effects {
        var effects = Effects(revision: log.latest)
        guard let entry = hosts.entries[host] else { return effects }
        // Without a connection to a broker, no host is heard.
        let definition = ServerDefinition(
            name: host, parent: entry.isOwn ? nil : hosts.own, source: Host.source, takesPosts: false)
        if records.place(of: host) == nil, let addition = add(definition, at: now) { effects = addition }
        guard let place = records.place(of: host), records[place].definition.source == Host.source else {
            return effects
        }
        if records[place].state.parent != definition.parent {
            // This host has another name than before.
            records[place].definition = definition
            records[place].state.parent = definition.parent
            effects = effects.followed(by: append(.updated, at: place))
        }
        let old = records[place].state
        switch entry.report.state {
        case .ready: _ = records[place].state.take(Self.readyText, level: .ok, [], at: now.wall)
        case .lost: _ = records[place].state.take(Self.text(ofLost: entry), level: .critical, [], at: now.wall)
        case .stopped:
            // As a failed one, it holds the alerts of its servers.
            records[place].state.status = nil
            (records[place].state.phase, records[place].state.message) = (.failed, Self.stoppedText)
        }
        records[place].state.isRestored = false
        if records[place].state.isLike(old) {
            records[place].state = old
            return effects
        }
        return effects.followed(by: append(.changed, at: place))
    }

    private static let readyText = StatusText(label: "ready")
    private static let stoppedText = "stopped: statusd or statusd-mqtt does not run there"

    private static func text(ofLost entry: HostTable.Entry) -> StatusText {
        switch (entry.isOwn, entry.isOver) {
        case (true, true): StatusText(label: "no connection to a broker")
        case (true, false): StatusText(label: "statusd-mqtt does not report")
        case (false, true): StatusText(label: "lost: its connection broke")
        case (false, false): StatusText(label: "lost: not heard for three minutes")
        }
    }

    private mutating func noteHostExpiry(of host: ServerName) -> Duration? {
        guard let entry = hosts.entries[host], entry.isReady, nextHostExpiry.map({ entry.expiry < $0 }) ?? true else {
            return nil
        }
        nextHostExpiry = entry.expiry
        return entry.expiry
    }

    // MARK: Servers

    /// Takes the state of a server on its host; returns nil if that is known already, or late.
    ///
    /// - Parameter limit: the maximum number of servers that may be added.
    mutating func report(
        _ state: ServerState, of host: ServerName, epoch: Int, limit: Int, at now: Moment
    ) throws(HostReportError) -> Effects? {
        guard let name = ServerName(state.name, on: host) else { throw .nameTooLong(state.name, host: host) }
        let definition = ServerDefinition(
            name: name, description: state.description,
            parent: state.parent.flatMap { ServerName($0, on: host) } ?? host, source: Host.source,
            takesPosts: false, group: state.group.flatMap { ServerName($0, on: host) } ?? host)
        var effects = Effects(revision: log.latest)
        if records.place(of: name) == nil {
            guard hosts.entries[host]?.servers.count ?? 0 < HostTable.maximumServers else {
                throw .tooManyServers(host, limit: HostTable.maximumServers)
            }
            guard limit > 0 else { throw .full(limit: limit) }
            if let addition = add(definition, at: now) { effects = addition }
            // A broker may send the servers before it says that their host is there.
            if hosts.entries[host] == nil {
                hosts.entries[host] = HostTable.Entry(
                    report: HostReport(state: .lost, epoch: -1), since: now.wall, heardAt: now, pass: hosts.pass,
                    isOwn: false)
            }
            hosts.insert(name, of: host)
            if let place = records.place(of: name) { records[place].report = ServerReport() }
        }
        guard let place = records.place(of: name) else { return nil }
        guard let last = records[place].report else { throw .isLocal(name) }
        let isKnown = epoch == last.epoch && state.revision == last.revision
        hosts.entries[host]?.pass = hosts.pass
        guard isKnown || (epoch, state.revision) > (last.epoch, last.revision) else {
            // The broker may not have kept the newest one, but it has the server.
            records[place].report = last.with(pass: hosts.pass)
            return nil
        }
        records[place].note(state, epoch: epoch, pass: hosts.pass)
        if isKnown { return nil }
        let old = records[place].state
        let silence = records[place].report?.silence
        // After a restart, what the host had said of silences before is known only if it is in effect here.
        let keepsOwn = last.epoch < 0 && old.silence?.user != nil
        if silence != last.silence, silence != old.silence, !keepsOwn {
            records[place].state.silence = silence
            effects = effects.followed(by: append(silence == nil ? .unsilenced : .silenced, at: place))
        }
        let before = records[place].state
        let isNewGroup = records[place].definition.group != definition.group
        records[place].definition = definition
        records[place].show(state, isCurrent: hosts.isCurrent(epoch, of: host))
        if isNewGroup { joinGroups(at: place) }
        guard records[place].state != before else { return effects }
        let isChange = !records[place].state.isLike(before)
        return effects.followed(by: append(isChange ? .changed : .updated, at: place))
    }

    /// Removes a server that its host does not have any more; returns nil if it is not known.
    mutating func removeReported(_ server: ServerName, of host: ServerName) -> Effects? {
        guard let name = ServerName(server, on: host), records[name]?.report != nil else { return nil }
        return try? remove(name)
    }

    /// The servers of a host that are not shown as they are; none after nearly each report of a host.
    func uncertain(of host: ServerName) -> [ServerName] {
        guard let entry = hosts.entries[host] else { return [] }
        return entry.servers.filter { records[$0].map { isStale($0, of: host) != $0.state.isStale } ?? false }.sorted()
    }

    private func isStale(_ record: Record, of host: ServerName) -> Bool {
        guard let report = record.report, !report.isStale else { return true }
        // Of a server from before a restart, the epoch is not known.
        return record.state.isRestored
            ? hosts.entries[host]?.isReady != true : !hosts.isCurrent(report.epoch, of: host)
    }

    /// Shows whether a host's server is current, after its host has changed; returns nil if nothing changes.
    mutating func showCurrency(of name: ServerName) -> Effects? {
        guard let host = name.host, let place = records.place(of: name) else { return nil }
        let isStale = isStale(records[place], of: host)
        guard records[place].state.isStale != isStale else { return nil }
        records[place].state.isStale = isStale
        return append(.changed, at: place)
    }

    // MARK: Passes

    /// Ends a pass, in which all hosts and servers were reported; returns the names to remove.
    ///
    /// What was in neither of the last two passes is gone. One pass is not enough, because a broker may leave something
    /// out of it while that changes.
    mutating func endPass() -> [ServerName] {
        let oldest = hosts.pass - 1
        hosts.pass += 1
        return hosts.entries.flatMap { host, entry in
            let gone = entry.servers.filter { records[$0]?.report.map { $0.pass < oldest } ?? false }
            return entry.pass < oldest && !entry.isOwn ? names(of: host) : Array(gone)
        }
    }

    /// Removes a host, or a server of one, that is gone.
    mutating func removeGone(_ name: ServerName) -> Effects? {
        if hosts.entries[name] != nil, name.host == nil {
            hosts.entries[name] = nil
            guard records[name]?.definition.source == Host.source else { return nil }
        }
        return try? remove(name)
    }

    // MARK: Reading

    /// The names of a host's servers, and of the host.
    func names(of host: ServerName) -> [ServerName] {
        hosts.entries[host].map { Array($0.servers) + [host] } ?? []
    }

    func host(_ name: ServerName) -> Host? {
        guard let entry = hosts.entries[name] else { return nil }
        let levels = entry.servers.compactMap { records[$0]?.state.countedLevel }
        return Host(
            name: name, state: entry.report.state, since: entry.since, heardAt: entry.heardAt.wall,
            clockDifference: entry.report.clockDifference, version: entry.report.version,
            servers: entry.servers.count, worst: levels.max { $1.isWorse(than: $0) })
    }

    // MARK: Restarts

    /// Notes a restored server of another host, or the server that stands for a host.
    mutating func restoreHost(of place: Int, at now: Moment) {
        let state = records[place].state
        let host = state.name.host ?? state.name
        if hosts.entries[host] == nil {
            hosts.entries[host] = HostTable.Entry(
                report: HostReport(state: .ready, epoch: -1), since: now.wall, heardAt: now, pass: -1, isOwn: false)
        }
        if state.name.host != nil {
            hosts.insert(state.name, of: host)
            records[place].definition.group = state.group
            records[place].report = ServerReport(silence: state.silence)
        } else {
            let wasLost = state.status?.level == .critical
            hosts.entries[host]?.report.state = state.phase == .failed ? .stopped : wasLost ? .lost : .ready
            hosts.entries[host]?.since = state.status?.changedAt ?? now.wall
        }
    }
}

extension Ledger.Record {
    /// Notes what a host reported of its server.
    fileprivate mutating func note(_ state: ServerState, epoch: Int, pass: Int) {
        // A user's ID means nothing on another host.
        let silence = state.silence.map { Silence(since: $0.since, until: $0.until, reason: $0.reason) }
        report = ServerReport(
            epoch: epoch, revision: state.revision, pass: pass, isStale: state.isStale, silence: silence)
    }

    /// Shows the state of a server on its host.
    fileprivate mutating func show(_ new: ServerState, isCurrent: Bool) {
        (state.status, state.phase, state.message) = (new.status, new.phase, new.message)
        (state.description, state.parent) = (new.description, definition.parent)
        state.isStale = new.isStale || !isCurrent
        state.isRestored = new.isRestored
        state.values = new.values
    }
}

extension ServerState {
    /// Whether readers who do not want updates have seen this state as `other`.
    fileprivate func isLike(_ other: ServerState) -> Bool {
        status?.text == other.status?.text && status?.level == other.status?.level && phase == other.phase
            && isStale == other.isStale && isRestored == other.isRestored && silence == other.silence
            && (phase == .loaded || message == other.message)
    }
}
