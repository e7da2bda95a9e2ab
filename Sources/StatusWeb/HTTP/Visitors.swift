// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore

/// All connections of visitors, and their limits.
final class Visitors {
    let limits: HTTPLimits
    let site: Site
    let loop: any NIOCore.EventLoop
    private var open: [ObjectIdentifier: Visitor] = [:]
    /// Those that have an event stream.
    private(set) var streams: [ObjectIdentifier: Visitor] = [:]
    /// The bytes of answers and snapshots that are on their way.
    var unread = 0
    private var sweep: RepeatedTask?
    private(set) var isStopping = false
    private var onEmpty: (() -> Void)?

    init(_ site: Site, limits: HTTPLimits, loop: any NIOCore.EventLoop) {
        (self.site, self.limits, self.loop) = (site, limits, loop)
    }

    func opened(_ visitor: Visitor) {
        if open.count >= limits.connections { evict() }
        open[ObjectIdentifier(visitor)] = visitor
        guard sweep == nil else { return }
        let visitors = NIOLoopBound(self, eventLoop: loop)
        sweep = loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            visitors.value.dropLate()
        }
    }

    /// The number of event streams, also of those whose first events are being read.
    var streamCount: Int { open.values.count { $0.phase == .streaming } }

    func follow(_ visitor: Visitor) { streams[ObjectIdentifier(visitor)] = visitor }

    func closed(_ visitor: Visitor) {
        open[ObjectIdentifier(visitor)] = nil
        streams[ObjectIdentifier(visitor)] = nil
        guard open.isEmpty else { return }
        // Without visitors, nothing wakes the process up.
        sweep?.cancel()
        sweep = nil
        onEmpty?()
    }

    /// Makes room: ends the connections in the first phases, and of these, the oldest ones.
    ///
    /// Several of them, because in a flood, each new connection must find its place fast.
    private func evict() {
        let others = open.values.filter { $0.phase != .streaming }
            .sorted { ($0.phase.rawValue, $0.since) < ($1.phase.rawValue, $1.since) }
        for visitor in others.prefix(max(1, limits.connections / 32)) { visitor.drop() }
    }

    /// If visitors do not read their answers, ends the connection of the one that has not read for the longest time.
    func dropSlowest() {
        guard unread > limits.unread else { return }
        open.values.filter { $0.unread > 0 }.min { $0.since < $1.since }?.drop()
    }

    /// Ends connections that have used up their time.
    private func dropLate() {
        let now = loop.now
        for visitor in open.values {
            let limit: TimeAmount? =
                switch visitor.phase {
                case .idle: limits.idle
                // From the first byte on: a new byte does not begin the time again.
                case .reading: limits.request
                case .answering: nil
                case .sending: limits.sending
                case .streaming: visitor.isBehind ? limits.stalled : visitor.queued > 0 ? limits.sending : nil
                }
            if let limit, now - visitor.since > limit { visitor.drop() }
        }
        if !streams.isEmpty { site.tick() }
    }

    /// Ends all streams, and calls `body` when all visitors have left.
    func stop(then body: @escaping () -> Void) {
        (isStopping, onEmpty) = (true, body)
        for visitor in streams.values { visitor.endStream() }
        for visitor in open.values where visitor.phase == .idle { visitor.drop() }
        if open.isEmpty { body() }
    }
}
#endif
