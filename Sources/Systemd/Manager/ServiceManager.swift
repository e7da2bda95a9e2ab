// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// The service manager that started this process, over sd_notify(3).
///
/// Without one (`NOTIFY_SOCKET` unset) every call does nothing and nothing fails.
public enum ServiceManager {
    /// What a service tells its manager.
    public enum Notification: Sendable, Equatable {
        /// Start-up, or the reload, is done.
        case ready
        /// How the service is doing, in one line. Control characters in it are escaped, so that it stays one.
        case status(String)
        /// A reload begins. Carries `MONOTONIC_USEC`, without which systemd from 253 on lets the reload fail.
        case reloading
        /// The service is going down.
        case stopping
        /// Whatever is going on needs this long from now on.
        case extendTimeout(Duration)
        /// The service is alive.
        case watchdog
        /// The service knows that it is not well, and wants to be restarted as if it hung.
        case watchdogTrigger
        /// The service failed with this error number.
        case errno(Int32)

        var assignments: String {
            switch self {
            case .ready: "READY=1"
            case .status(let text): "STATUS=\(Self.oneLine(text))"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds())"
            case .stopping: "STOPPING=1"
            case .extendTimeout(let time): "EXTEND_TIMEOUT_USEC=\(time.microseconds)"
            case .watchdog: "WATCHDOG=1"
            case .watchdogTrigger: "WATCHDOG=trigger"
            case .errno(let number): "ERRNO=\(number)"
            }
        }

        private static func oneLine(_ text: String) -> String {
            guard text.utf8.contains(where: { $0 < 0x20 }) else { return text }
            return text.unicodeScalars.reduce(into: "") { line, scalar in
                if scalar.value < 0x20 {
                    line += scalar.escaped(asASCII: true)
                } else {
                    line.unicodeScalars.append(scalar)
                }
            }
        }

        private static func monotonicMicroseconds() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
        }
    }

    /// Whether a manager wants to be told anything.
    public static var isPresent: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// How often the manager wants a sign of life, at the least (sd_watchdog_enabled(3)); nil where it wants none.
    public static var watchdogInterval: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// Tells the manager, in one message.
    ///
    /// - Returns: whether it was sent; false also where there is no manager.
    @discardableResult
    public static func notify(_ notifications: Notification...) -> Bool {
        sd_notify(0, notifications.map(\.assignments).joined(separator: "\n")) > 0
    }

    /// Waits until the manager has handled all that was sent before, or `timeout` is over; does not block the loop.
    ///
    /// The manager is sent one end of a pipe and closes it when it comes to it, as with sd_notify_barrier(3).
    ///
    /// - Returns: whether it did.
    @EventLoop @discardableResult
    public static func settle(timeout: Duration = .seconds(5)) async -> Bool {
        guard let barrier = sendBarrier() else { return false }
        return await Barrier(barrier).passed(within: timeout)
    }

    /// Sends the manager one end of a pipe and returns the other.
    ///
    /// On return nobody but the manager has the first one.
    private static func sendBarrier() -> OwnedDescriptor? {
        var ends: [Int32] = [-1, -1]
        guard isPresent, pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        let mine = OwnedDescriptor(adopting: ends[0])
        let sent = sd_pid_notify_with_fds(0, 0, "BARRIER=1", [ends[1]], 1) > 0
        close(ends[1])
        return sent ? mine : nil
    }
}

/// The end of a pipe whose other end the manager has.
@EventLoop
private final class Barrier {
    private let descriptor: OwnedDescriptor
    private var source: IOSource?
    private var timer: TimerSource?
    private var waiter: CheckedContinuation<Bool, Never>?

    init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    func passed(within timeout: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            waiter = continuation
            do throws(SystemdError) {
                source = try IOSource(descriptor: descriptor.rawValue, events: .readable) { _ in self.end(true) }
                timer = try TimerSource { self.end(false) }
                timer?.schedule(after: timeout)
            } catch {
                end(false)
            }
        }
    }

    private func end(_ passed: Bool) {
        source?.cancel()
        timer?.cancel()
        waiter?.resume(returning: passed)
        waiter = nil
    }
}
