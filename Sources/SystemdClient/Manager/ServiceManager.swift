// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import EventLoopIO
import Glibc
package import Logging

/// The service manager that started this process (sd_notify(3)).
///
/// Without one (`NOTIFY_SOCKET` unset), calls do nothing and do not fail.
public enum ServiceManager {
    /// A report of a service to its manager.
    public enum Notification: Sendable, Equatable {
        /// Start-up or the reload is complete.
        case ready
        /// The service's status in one line.
        ///
        /// C0 control characters in it are escaped, and backslashes doubled, because systemd removes one. Of more than
        /// 4000 bytes, the rest is cut and replaced by `…`.
        case status(String)
        /// A reload begins.
        ///
        /// It carries `MONOTONIC_USEC`, which `Type=notify-reload` requires (systemd 253; sd_notify(3)).
        case reloading
        /// The service shuts down.
        case stopping
        /// The present operation needs this much time from now on.
        case extendTimeout(Duration)
        /// The service is alive.
        case watchdog
        /// The service is not healthy and wants to be restarted as if it hung.
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

        /// The longest line in bytes; the manager ignores messages of 4096 bytes.
        private static let longestLine = 4000

        private static func oneLine(_ text: String) -> String {
            let isPlain = !text.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") }
            if isPlain, text.utf8.count <= longestLine { return text }
            var line = ""
            for scalar in text.unicodeScalars {
                // systemd removes one of two backslashes, and rejects one at the end.
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

    /// Whether there is a manager to notify.
    public static var isPresent: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// The longest time between two keep-alives that the manager accepts (sd_watchdog_enabled(3)); nil if it expects
    /// none.
    public static var watchdogInterval: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// Notifies the manager without waiting.
    ///
    /// If the manager does not read, a newer notification replaces an unsent one of the same kind. Errors are ignored.
    /// exit(3), which `main` calls when it returns, waits up to 500 ms for unsent notifications.
    public static func notify(_ notification: Notification) {
        guard isPresent else { return }
        let text = notification.assignments
        let kind = notification == .watchdogTrigger ? "trigger" : text.prefix { $0 != "=" }
        // A status takes the position of the one it replaces, before the barrier of a caller that waits for it.
        outbox.post(.notification(kind, text), size: text.utf8.count, inPlace: !ordered.contains(kind)) { waiting in
            if case .notification(kind, _) = waiting { true } else { false }
        }
    }

    /// Notifies the manager without waiting; returns false if the caller should retry, because the socket is full or
    /// the kernel has no resources.
    ///
    /// It is for processes that have neither an event loop nor a second thread. All other errors are ignored; without a
    /// manager it returns true.
    public static func notifyNow(_ notification: Notification) -> Bool {
        socket.map { sendNow(notification.assignments, to: $0) } ?? true
    }

    /// The manager's socket; nil if there is none, or if it is not a Unix socket.
    private static var socket: UnixAddress? {
        getenv("NOTIFY_SOCKET").flatMap { try? UnixAddress(parsing: String(cString: $0)) }
    }

    private static func sendNow(_ text: String, to address: UnixAddress) -> Bool {
        do throws(IOError) {
            try UnixSocket.send(Array(text.utf8), to: address)
            return true
        } catch {
            return error.code != .timedOut && error.code != .exhausted
        }
    }

    /// Sends keep-alives to the manager's watchdog while the service is alive, until the task is cancelled.
    ///
    /// - Parameter interval: the longest time between two keep-alives (``watchdogInterval``).
    package static func keepAlive(
        within interval: Duration, logger: Logger, while isAlive: @Sendable () async -> Bool
    ) async {
        while !Task.isCancelled {
            if await isAlive() {
                notify(.watchdog)
            } else if !Task.isCancelled {
                logger.warning("watchdog probe failed; no keep-alive is sent")
            }
            // Half the time allowed, as sd_watchdog_enabled(3) advises.
            try? await EventLoop.sleep(for: interval / 2)
        }
    }

    /// Waits until the manager has handled all earlier notifications, up to `timeout`, without blocking the loop.
    ///
    /// It sends the manager one end of a pipe, which the manager closes in order, as with sd_notify_barrier(3). It also
    /// returns after the timeout, or if the task is cancelled or no pipe can be created.
    @EventLoop
    public static func settle(timeout: Duration = .seconds(5)) async {
        guard isPresent else { return }
        var source: IOSource?
        await TimedWait<Void>.run(within: timeout) { end in
            guard let pipe = OwnedDescriptor.makePipe() else { return end(()) }
            source = try? IOSource(pipe.reading, events: .readable) { _ in end(()) }
            if source == nil { end(()) } else { outbox.post(.barrier(pipe.writing), size: 1) }
        }
        source?.cancel()
    }

    // MARK: -

    /// The kinds whose order matters, so that a replacement goes to the end.
    private static let ordered: Set<Substring> = ["READY", "RELOADING", "STOPPING"]

    private enum Message: Sendable {
        /// The kind, of which only the newest is kept, and the text.
        case notification(Substring, String)
        /// One end of a pipe, which is closed here as soon as it has been sent.
        case barrier(OwnedDescriptor)
    }

    // There is always room: at most one notification of each kind waits, and a barrier for each caller.
    private static let outbox: Outbox<Message> = {
        atexit { ServiceManager.outbox.flush() }
        return Outbox(capacity: .max) { message in
            switch message {
            case .notification(_, let text): socket.map { sendNow(text, to: $0) } ?? false
            case .barrier: false
            }
        } send: { message in
            switch message {
            case .notification(_, let text): sd_notify(0, text)
            case .barrier(let end): sd_pid_notify_with_fds(0, 0, "BARRIER=1", [end.rawValue], 1)
            }
        } reportLoss: { _ in
        }
    }()
}
