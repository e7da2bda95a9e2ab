// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// The interface `io.systemd.Metrics`, with which systemd-report (systemd 260 or later) collects metrics.
///
/// The description is from systemd's `varlink-io.systemd.Metrics.c`. Each metric's name begins with the name of the
/// socket in `/run/systemd/report`.
@EventLoop
final class MetricsInterface: VarlinkInterface {
    private nonisolated static let name = "io.systemd.Metrics"
    private nonisolated static let text = """
        # Metrics of a service.
        interface \(name)

        # counter: grows only. gauge: a number. string: a text.
        type MetricFamilyType (counter, gauge, string)

        # List all metrics. object: what it is about, here a server. fields: values that tell metrics of one family
        # apart. Requires more.
        method List() -> (name: string, value: any, object: ?string, fields: ?[string]any)

        # Describe the families of metrics. Requires more.
        method Describe() -> (name: string, description: string, type: MetricFamilyType)

        error NoSuchMetric ()

        """

    private enum Family: String, CaseIterable {
        case serverLevel = "ServerLevel"
        case serverValue = "ServerValue"
        case servers = "Servers"

        var name: String { "\(MonitorInterface.name).\(rawValue)" }

        var description: String {
            switch self {
            case .serverLevel:
                """
                The level of a server: ok, warning, critical or unknown; unknown if its status is not current, none if \
                there is none; the selected server first
                """
            case .serverValue: "A number that the check of a server measured, in the unit of its fields"
            case .servers: "The number of servers with a level"
            }
        }

        var type: String {
            switch self {
            case .serverLevel: "string"
            case .serverValue, .servers: "gauge"
            }
        }
    }

    nonisolated let interfaceDescription: InterfaceDescription
    private let monitor: StatusMonitor

    init(monitor: StatusMonitor) throws {
        interfaceDescription = try InterfaceDescription(parsing: Self.text)
        self.monitor = monitor
    }

    nonisolated func onlyReads(_ method: String) -> Bool { true }

    func handle(_ call: VarlinkCall) {
        guard call.wantsMore else {
            return MonitorError.service(.expectedMore).reply.map { call.fail($0) } ?? call.hangUp()
        }
        switch call.method {
        case "List": MetricList(monitor).stream(call)
        case "Describe": describe(call)
        default: call.failNotImplemented()
        }
    }

    private func describe(_ call: VarlinkCall) {
        var families = Family.allCases[...]
        func write(_ writer: inout JSONWriter) {
            guard let family = families.popFirst() else { return }
            writer.member("name", family.name)
            writer.member("description", family.description)
            writer.member("type", family.type)
        }
        let stream = call.stream(
            { writer in
                guard families.count > 1 else { return false }
                write(&writer)
                return true
            }, onClose: {})
        stream.finish { write(&$0) }
    }

    /// The metrics for one call: as many servers as fit, each with its values, and then the number of servers with each
    /// level.
    @EventLoop
    private final class MetricList {
        /// systemd-report accepts at most 1024 metrics from a service.
        private static let mostLines = 1024 - levels.count
        private static let levels: [Level?] = [.ok, .warning, .critical, .unknown, nil]
        private enum Line {
            case level(ServerState)
            case value(MeasuredValue, of: ServerName)
        }

        /// The number of servers in one turn.
        private static let piece = 64

        private let monitor: StatusMonitor
        private var stream: VarlinkStream?
        /// The selected server, which is written first.
        private let selected: ServerName?
        private var waiting: ArraySlice<Line>
        /// The last server that was counted; servers are counted in the order of their names.
        private var last: ServerName?
        private var hasMore = true
        /// Whether the next piece may be written in this turn.
        private var hasTurn = true
        private var written = 0
        private var counts: [Level?: Int] = [:]
        private var left = levels[...]

        init(_ monitor: StatusMonitor) {
            self.monitor = monitor
            let state = try? monitor.selectedState()
            selected = state?.name
            waiting = state.map { Self.lines(of: $0)[...] } ?? []
        }

        func stream(_ call: VarlinkCall) {
            // The stream holds this object until it is closed.
            stream = call.stream({ self.next(&$0) }, onClose: { self.stream = nil })
            stream?.wake()
        }

        private func next(_ writer: inout JSONWriter) -> Bool {
            if waiting.isEmpty, hasMore, hasTurn { look() }
            if let line = waiting.popFirst() {
                write(line, &writer)
                return true
            }
            if hasMore {
                // Many clients that read fast would otherwise fill each turn.
                EventLoop.atNextTurn {
                    self.hasTurn = true
                    self.stream?.wake()
                }
                return false
            }
            guard left.count > 1 else {
                stream?.finish { self.writeCount(&$0) }
                return false
            }
            writeCount(&writer)
            return true
        }

        /// Counts the next servers, and keeps those to write.
        private func look() {
            hasTurn = false
            let states = monitor.states(after: last, limit: Self.piece)
            last = states.last?.name
            hasMore = last != nil
            for state in states { counts[state.countedLevel, default: 0] += 1 }
            waiting = states.filter { $0.name != selected }.flatMap(Self.lines).prefix(Self.mostLines - written)
        }

        private static func lines(of state: ServerState) -> [Line] {
            [.level(state)] + state.values.map { .value($0, of: state.name) }
        }

        private func write(_ line: Line, _ writer: inout JSONWriter) {
            written += 1
            switch line {
            case .level(let state):
                writer.member("name", Family.serverLevel.name)
                writer.member("value", state.countedLevel?.rawValue ?? "none")
                writer.member("object", state.name.rawValue)
            case .value(let value, let server):
                writer.member("name", Family.serverValue.name)
                writer.member("value", value.value)
                writer.member("object", server.rawValue)
                writer.member("fields") { writer in
                    writer.member("value", value.name)
                    writer.member("unit", value.unit)
                }
            }
        }

        private func writeCount(_ writer: inout JSONWriter) {
            guard let level = left.popFirst() else { return }
            writer.member("name", Family.servers.name)
            writer.member("value", counts[level] ?? 0)
            writer.member("fields") { $0.member("level", level?.rawValue ?? "none") }
        }
    }
}
