// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// The interface of the watchdog's probe, which takes the same path as a client's post and a client's stream.
///
/// It is not listed, and available only to the daemon's own connection.
@EventLoop
final class ProbeInterface: VarlinkInterface {
    nonisolated static let name = "org.statusd.probe"
    private nonisolated static let text = """
        interface \(name)
        method Post() -> (revision: int)
        method Watch() -> (revision: int)
        """

    nonisolated let interfaceDescription: InterfaceDescription
    private let probe: ProgressProbe

    init(monitor: StatusMonitor) throws {
        interfaceDescription = try InterfaceDescription(parsing: Self.text)
        probe = ProgressProbe(monitor: monitor)
    }

    func handle(_ call: VarlinkCall) {
        guard call.isInternal else { return call.fail(.service(.interfaceNotFound(Self.name))) }
        do {
            switch call.method {
            case "Post": post(call)
            case "Watch": try watch(call)
            default: call.failNotImplemented()
            }
        } catch {
            if let reply = MonitorError(any: error)?.reply { call.fail(reply) } else { call.hangUp(because: error) }
        }
    }

    private func post(_ call: VarlinkCall) {
        let probe = probe
        call.perform { call in
            guard let revision = await probe.post() else { return }
            call.reply { $0.member("revision", revision) }
        }
    }

    private func watch(_ call: VarlinkCall) throws {
        guard call.wantsMore else { throw MonitorError.service(.expectedMore) }
        let wakeUp = WakeUp()
        let watch = try probe.watch { _ in EventLoop.perform { wakeUp.stream?.wake() } }
        wakeUp.stream = call.stream { writer in
            guard let event = watch.next() else { return false }
            writer.member("revision", event.cursor.revision)
            return true
        } onClose: {
            wakeUp.stream = nil
        }
    }

    /// Holds the stream that the log's reader wakes.
    private final class WakeUp: Sendable {
        @EventLoop var stream: VarlinkStream?
    }
}
