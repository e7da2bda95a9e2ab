// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// What one datagram of sd_notify(3) says, as far as it is about a status.
struct NotifyMessage: Equatable {
    /// Where the program is in its life.
    enum Condition: Equatable {
        case ready, reloading, stopping
        /// It failed, with this error number.
        case failed(Int32)
        /// It found itself unwell (`WATCHDOG=trigger`).
        case unwell
    }

    /// The text of `STATUS=`; empty where the program takes its text back.
    var status: String?
    var condition: Condition?
    /// Whether it says that it is alive (`WATCHDOG=1`).
    var isAlive = false
    /// How often it is going to say so at least (`WATCHDOG_USEC=`); zero where it will no more.
    var watchdogTime: Duration?

    /// What is longer is no promise, as systemd's own infinity is none; what is shorter would be stale before it is read.
    private static let watchdogTimes = Duration.milliseconds(100)...Duration.seconds(366 * 86_400)

    /// More lines than anything sends.
    private static let maximumLines = 128
    /// More of a value than becomes a status, in bytes: with white space around it, and before it is escaped.
    private static let maximumValue = StatusText.maximumLength + 512

    /// Reads a datagram; nil if it has more lines than makes sense, since somebody may send many such, and a part of it could say something else.
    ///
    /// What is unknown in it is passed over, as the service manager does; of what stands twice the last holds.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var (start, lines) = (0, 0)
        while let end = Self.endOfLine(in: bytes, from: start) {
            guard lines < Self.maximumLines else { return nil }
            take(Line(bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
            (start, lines) = (end + 1, lines + 1)
        }
    }

    /// Where a line ends: at a newline, at a NUL, or with the datagram; nil behind the last line.
    private static func endOfLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        let newline = memchr(base + start, 0x0A, bytes.count - start).map { UnsafeRawPointer($0) - base } ?? bytes.count
        let nul = memchr(base + start, 0, newline - start).map { UnsafeRawPointer($0) - base }
        return nul ?? newline
    }

    private mutating func take(_ line: Line) {
        if let text = line.value(of: "STATUS=") {
            status = text
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
            watchdogTime = Self.watchdogTime(number)
        } else if let number = line.value(of: "ERRNO=").flatMap({ Int32($0) }), number > 0 {
            condition = .failed(number)
        }
    }

    /// One line of a datagram, in its memory.
    private struct Line {
        let bytes: UnsafeRawBufferPointer

        /// The text behind a name and its equals sign; nil if the line begins with another name.
        ///
        /// Invalid UTF-8 is repaired, because the sender cannot be told.
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
