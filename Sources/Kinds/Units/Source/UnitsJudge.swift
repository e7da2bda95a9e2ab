// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient

/// Decides what the states of several units mean for their server; each unit is judged as if it were followed alone.
struct UnitsJudge {
    /// How many units are followed.
    static let mostUnits = 100
    /// How many units a text names.
    private static let mostNames = 5

    private struct Unit {
        let name: String
        var judge: UnitJudge
        var properties: UnitProperties?
        /// The last status; nil before the first one.
        var status: UnitStatus?

        /// Whether nothing is known about it yet.
        var isUnread: Bool { properties == nil && status == nil }
        /// Whether it is down after a failure; the manager listed one that cannot be read.
        var hasFailed: Bool {
            status?.level.isWorse(than: .ok) == true && properties?.activeState ?? "failed" == "failed"
        }
    }

    let settings: UnitsSettings
    private var runtime: Duration?
    private var counter: LevelCounter
    /// The units that are followed, by their names.
    private var units: [Unit] = []
    /// How many units match.
    private var count = 0

    var signedStreak: Int { counter.signedStreak }
    var names: [String] { units.map(\.name) }

    /// The parameters are those of ``UnitJudge``.
    init(
        _ settings: UnitsSettings, runtime: Duration?, schedule: CheckSchedule, shown: Level?, signedStreak: Int = 0
    ) {
        self.settings = settings
        self.runtime = runtime
        counter = LevelCounter(schedule, shown: shown, signedStreak: signedStreak)
    }

    /// Changes the options; what is known about the units is kept.
    mutating func change(runtime: Duration?, schedule: CheckSchedule, shown: Level?) {
        self.runtime = runtime
        counter = LevelCounter(schedule, shown: shown)
        for index in units.indices {
            units[index].judge.change(runtime: runtime, schedule: CheckSchedule(), shown: units[index].status?.level)
        }
    }

    /// Takes the sorted names of all units that match.
    mutating func match(_ names: [String]) {
        count = names.count
        let known = Dictionary(uniqueKeysWithValues: units.map { ($0.name, $0) })
        units = names.prefix(Self.mostUnits).map { name in
            known[name]
                ?? Unit(
                    name: name, judge: UnitJudge(of: name, runtime: runtime, schedule: CheckSchedule(), shown: nil))
        }
    }

    /// Takes what is known about a unit.
    mutating func know(_ name: String, _ observation: UnitObservation) {
        guard let index = units.firstIndex(where: { $0.name == name }) else { return }
        switch observation {
        case .properties(let properties):
            // What was shown before it could not be read no longer holds.
            if units[index].properties == nil { units[index].status = nil }
            units[index].properties = properties
        case .unreachable(let reason):
            units[index].properties = nil
            units[index].status = UnitStatus(.unknown, "cannot be read: \(reason)")
        case .unanswered: break
        }
    }

    /// Judges the units.
    ///
    /// - Parameter isFirst: whether the server shows no status of now, so that the state of each unit must be known.
    /// - Returns: what to do; when to judge again if nothing changes before, nil for never; and when the state of each
    ///   unit will be known, if that is soon.
    mutating func judge(
        at now: Duration, isFirst: Bool = false
    ) -> (verdict: UnitJudge.Verdict, again: Duration?, settles: Duration?) {
        if units.contains(where: \.isUnread) { return (.wait, nil, nil) }
        var times: [Duration] = []
        var settles: Duration?
        for index in units.indices {
            guard let properties = units[index].properties else { continue }
            let (verdict, again) = units[index].judge.judge(properties, at: now)
            switch verdict {
            case .show(let status), .hold(let status, _, _): units[index].status = status
            case .wait:
                settles = [settles, again].compactMap(\.self).filter { $0 <= now + UnitJudge.passingTime }.max()
            }
            if let again { times.append(again) }
        }
        // A unit that failed just now may be restarted.
        if isFirst, units.contains(where: { $0.status == nil }) { return (.wait, times.min(), settles) }
        let (verdict, again) = counter.count(status, at: now)
        return (verdict, (times + [again].compactMap(\.self)).min(), settles)
    }

    /// The status of the server.
    private var status: UnitStatus {
        switch settings.state {
        case .failed: failures
        case .active: problems
        }
    }

    private var failures: UnitStatus {
        let failed = units.filter(\.hasFailed)
        let number = failed.count + count - units.count
        if number == 0 { return UnitStatus(.ok, "no unit has failed") }
        let texts = failed.map { unit in
            let reason = unit.properties?.reason ?? unit.properties?.result
            return unit.name + (reason.map { " (\($0))" } ?? "")
        }
        return UnitStatus(.critical, "\(number) failed: \(Self.list(texts, of: number, ", "))")
    }

    private var problems: UnitStatus {
        if count == 0 {
            return UnitStatus(.unknown, "no unit matches \(settings.patterns.joined(separator: " or "))")
        }
        let known = units.compactMap { unit in unit.status.map { (unit: unit, status: $0) } }
        let bad = known.filter { $0.status.level != .ok }
            .sorted { ($1.status.level.severity, $0.unit.name) < ($0.status.level.severity, $1.unit.name) }
        guard let worst = bad.first else {
            // Only a oneshot is ok while it is not active; another unit may be down for a moment.
            let others = known.count { $0.unit.properties.map { $0.serviceType == "oneshot" && !$0.isActive } == true }
            let active = known.count - others
            let more = others == 0 ? "" : others == 1 ? ", 1 oneshot" : ", \(others) oneshots"
            return UnitStatus(.ok, "\(active) active\(more)")
        }
        let texts = bad.map { unit, status in
            // A unit that does not exist has its name in the text.
            status.text.hasPrefix("unit \(unit.name) ")
                ? String(status.text.dropFirst("unit ".count)) : "\(unit.name) \(status.text)"
        }
        return UnitStatus(
            worst.status.level, "\(bad.count) of \(count) not ok: \(Self.list(texts, of: bad.count, "; "))")
    }

    /// The first ones of several texts, and how many more there are.
    private static func list(_ texts: [String], of number: Int, _ separator: String) -> String {
        let shown = texts.prefix(mostNames)
        let rest = number - shown.count
        return shown.joined(separator: separator) + (rest > 0 ? " and \(rest) more" : "")
    }
}
