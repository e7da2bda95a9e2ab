// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// The assignments in an sd_notify(3) datagram that affect a status.
struct NotifyMessage: Equatable {
    enum Condition: Equatable {
        case ready, reloading, stopping
        /// The program failed with this error number.
        case failed(Int32)
        /// The program reports that its own watchdog was triggered (`WATCHDOG=trigger`).
        case unwell
    }

    /// The text of `STATUS=`; an empty text removes the previous one.
    var status: String?
    var condition: Condition?
    /// The first valid number of `ERRNO=`, whichever condition counts.
    var errorNumber: Int32?
    /// Whether the datagram is a keep-alive (`WATCHDOG=1`).
    var isAlive = false
    /// The maximum time between keep-alives (`WATCHDOG_USEC=`); zero for no limit.
    var watchdogTime: Duration?

    /// Longer times mean no limit, as with systemd; shorter times could pass before the message is read.
    private static let watchdogTimes = Duration.milliseconds(100)...Duration.seconds(366 * 86_400)

    /// The maximum number of lines; no program sends as many.
    private static let maximumLines = 128
    /// The number of bytes of a value to read; white space around a status is removed later.
    private static let maximumValue = StatusText.maximumLength + 512

    /// Reads a datagram; nil if it has too many lines.
    ///
    /// Such a datagram is not truncated, because a part of it could have another meaning. Unknown assignments are
    /// ignored, as systemd does. Of two values the first one counts, and of two conditions the last one
    /// (`service_notify_message` in systemd's service.c).
    init?(_ bytes: UnsafeRawBufferPointer) {
        var (start, lines) = (0, 0)
        while let end = Self.endOfLine(in: bytes, from: start) {
            guard lines < Self.maximumLines else { return nil }
            take(Line(bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
            (start, lines) = (end + 1, lines + 1)
        }
    }

    /// Returns the end of a line; nil after the last line.
    ///
    /// A line ends at a newline, a carriage return, a NUL or the end of the datagram.
    private static func endOfLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        return [0x0A, 0x0D, 0].reduce(bytes.count) { end, byte in
            memchr(base + start, byte, end - start).map { UnsafeRawPointer($0) - base } ?? end
        }
    }

    private mutating func take(_ line: Line) {
        if let text = line.value(of: "STATUS=") {
            status = status ?? text
        } else if line == "READY=1" {
            condition = .ready
        } else if line == "RELOADING=1" {
            condition = .reloading
        } else if line == "STOPPING=1" {
            condition = .stopping
        } else if line == "WATCHDOG=1" {
            isAlive = true
        } else if line == "WATCHDOG=trigger" {
            condition = .unwell
        } else if let number = line.value(of: "WATCHDOG_USEC=").flatMap({ UInt64($0) }) {
            watchdogTime = watchdogTime ?? Self.watchdogTime(number)
        } else if let number = line.value(of: "ERRNO=").flatMap({ Int32($0) }), number > 0 {
            errorNumber = errorNumber ?? number
            condition = .failed(errorNumber ?? number)
        }
    }

    /// One line of a datagram, not copied.
    private struct Line {
        let bytes: UnsafeRawBufferPointer

        /// Returns the value after a name with its equals sign; nil if the line has another name.
        ///
        /// Invalid UTF-8 is repaired, because the sender cannot be informed.
        func value(of name: StaticString) -> String? {
            guard begins(with: name) else { return nil }
            let value = bytes[name.utf8CodeUnitCount...].prefix(NotifyMessage.maximumValue)
            return String(decoding: value, as: UTF8.self)
        }

        static func == (line: Line, text: StaticString) -> Bool {
            line.bytes.count == text.utf8CodeUnitCount && line.begins(with: text)
        }

        private func begins(with text: StaticString) -> Bool {
            guard let start = bytes.baseAddress, bytes.count >= text.utf8CodeUnitCount else { return false }
            return memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0
        }
    }

    private static func watchdogTime(_ microseconds: UInt64) -> Duration {
        let time = Duration.microseconds(Int64(clamping: microseconds))
        return time == .zero || time > watchdogTimes.upperBound ? .zero : max(time, watchdogTimes.lowerBound)
    }
}
