// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor

/// Ends silences at their time, or when their server is ok.
@EventLoop
final class SilenceKeeper: ChangeSink, EndOfTurnWork {
    /// How often it looks at the wall clock, which may be set.
    private static let longestPause = Duration.seconds(30)

    private let monitor: StatusMonitor
    private let clock: @Sendable () -> Moment
    private var silenced: Set<ServerName>
    private var timer: TimerSource?
    private var isScheduled = false

    init(monitor: StatusMonitor, clock: @escaping @Sendable () -> Moment = Moment.now) throws(IOError) {
        self.monitor = monitor
        self.clock = clock
        silenced = Set(monitor.states.filter { $0.silence != nil }.map(\.name))
        timer = try TimerSource(clock: .boottime) { [weak self] in self?.endSilences() }
        schedule()
    }

    func record(_ change: RecordedChange) -> ChangeReception {
        guard let server = change.server else { return .held }
        if server.silence == nil || change.kind == .removed {
            silenced.remove(server.name)
        } else {
            silenced.insert(server.name)
            schedule()
        }
        return .held
    }

    private func schedule() {
        guard !isScheduled, !silenced.isEmpty else { return }
        isScheduled = true
        EventLoop.atEndOfTurn(self)
    }

    func turnEnds() {
        isScheduled = false
        endSilences()
    }

    private func endSilences() {
        let now = clock().wall
        var pause: Duration?
        for name in silenced.sorted() {
            guard let state = try? monitor.state(of: name), let silence = state.silence else { continue }
            if let until = silence.until, until > now {
                let rest = Duration.milliseconds(until.milliseconds - now.milliseconds)
                pause = min(rest, pause ?? Self.longestPause)
            } else if silence.until != nil || state.countedLevel == .ok {
                _ = try? monitor.silence(name, nil)
            }
        }
        if let pause { timer?.schedule(after: pause) } else { timer?.stop() }
    }
}
