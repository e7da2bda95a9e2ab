// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import EventLoopIO
import Glibc

/// The service manager that started this process, over sd_notify(3).
///
/// Without one (`NOTIFY_SOCKET` unset) every call does nothing and nothing fails.
public enum ServiceManager {
    /// What a service tells its manager.
    public enum Notification: Sendable, Equatable {
        /// Start-up, or the reload, is done.
        case ready
        /// How the service is doing, in one line. Control characters in it are escaped, so that it stays one, and the manager shows it as it is.
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
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(nanoseconds(of: CLOCK_MONOTONIC) / 1000)"
            case .stopping: "STOPPING=1"
            case .extendTimeout(let time): "EXTEND_TIMEOUT_USEC=\(Int(time / .microseconds(1)))"
            case .watchdog: "WATCHDOG=1"
            case .watchdogTrigger: "WATCHDOG=trigger"
            case .errno(let number): "ERRNO=\(number)"
            }
        }

        /// The longest line, in bytes: the manager ignores a message of 4096.
        private static let longestLine = 4000

        private static func oneLine(_ text: String) -> String {
            let isPlain = !text.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") }
            if isPlain, text.utf8.count <= longestLine { return text }
            var line = ""
            for scalar in text.unicodeScalars {
                // systemd takes one of two backslashes away, and refuses one at the end.
                let visible =
                    if scalar.value < 0x20 {
                        "\\" + scalar.escaped(asASCII: true)
                    } else {
                        scalar == "\\" ? #"\\"# : String(scalar)
                    }
                if line.utf8.count + visible.utf8.count > longestLine { return line + "…" }
                line += visible
            }
            return line
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

    /// Tells the manager, without waiting for it to read.
    ///
    /// If it does not read, one that still waits is dropped when there is a newer one of its kind; so the newest of each is never lost.
    public static func notify(_ notification: Notification) {
        guard isPresent else { return }
        let text = notification.assignments
        let kind = notification == .watchdogTrigger ? "trigger" : text.prefix { $0 != "=" }
        // A status keeps the place of the one it replaces, before the barrier of a caller that waits for that one.
        outbox.post(.notification(kind, text), size: text.utf8.count, inPlace: !ordered.contains(kind)) { waiting in
            if case .notification(kind, _) = waiting { true } else { false }
        }
    }

    /// Tells the manager without waiting; returns false if its socket is full, or nothing can be sent now, so that the caller has to try again.
    ///
    /// For processes that have no event loop and no second thread. Without a manager it does nothing and returns true.
    public static func notifyNow(_ notification: Notification) -> Bool {
        guard let place = getenv("NOTIFY_SOCKET"), let address = try? UnixAddress(parsing: String(cString: place))
        else { return true }
        do throws(IOError) {
            try UnixSocket.send(Array(notification.assignments.utf8), to: address)
            return true
        } catch {
            return error.code != .timedOut && error.code != .exhausted
        }
    }

    /// Waits until the manager has handled all that was sent before, or `timeout` is over; does not block the loop.
    ///
    /// The manager is sent one end of a pipe and closes it when it comes to it, as with sd_notify_barrier(3).
    @EventLoop
    public static func settle(timeout: Duration = .seconds(5)) async {
        if isPresent { await barrier.wait(within: timeout) }
    }

    @EventLoop private static let barrier = SharedBarrier { outbox.post(.barrier($0), size: 1) }

    /// Waits until all that was said has been sent, at most for `limit`.
    @EventLoop
    public static func drain(within limit: Duration) async { await outbox.drain(within: limit) }

    // MARK: -

    /// The kinds of notifications that mean something else before another one than behind it.
    private static let ordered: Set<Substring> = ["READY", "RELOADING", "STOPPING"]

    private enum Message: Sendable {
        /// The kind, of which only the newest is kept, and the text.
        case notification(Substring, String)
        /// The end of a pipe, which is closed here as soon as it has been sent.
        case barrier(OwnedDescriptor)
    }

    // What the manager has not read yet: one of each kind, and a barrier. So there is always room.
    private static let outbox = Outbox<Message>(capacity: .max) { message in
        switch message {
        case .notification(_, let text): sd_notify(0, text)
        case .barrier(let end): sd_pid_notify_with_fds(0, 0, "BARRIER=1", [end.rawValue], 1)
        }
    } reportLoss: { _ in
    }
}
