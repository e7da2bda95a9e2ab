// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import StatusModel

/// The assignments in an sd_notify(3) datagram that affect a status.
struct NotifyMessage: Equatable {
    enum Condition: Equatable {
        case ready, reloading, stopping
        /// The program failed, with this reason (`ERRNO=`, `BUSERROR=`, `VARLINKERROR=`).
        case failed(StatusText)
        /// The program reports that its own watchdog was triggered (`WATCHDOG=trigger`).
        case unwell
    }

    /// The text of `STATUS=`; an empty text removes the previous one.
    var status: String?
    /// A failure, or else stopping, or else ready, or else reloading, in any order of the lines.
    var condition: Condition?
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

    /// Reads a datagram; nil if it has too many lines, or a NUL before its end.
    ///
    /// Such a datagram is not truncated, because a part of it could have another meaning. Unknown assignments are
    /// ignored, as systemd does. Of two values of a name the first one counts, even if it is invalid, and of two
    /// conditions the worse one (`service_notify_message` in systemd's service.c).
    init?(_ bytes: UnsafeRawBufferPointer) {
        let text = bytes.last == 0 ? UnsafeRawBufferPointer(rebasing: bytes.dropLast()) : bytes
        if let base = text.baseAddress, memchr(base, 0, text.count) != nil { return nil }
        var values = Values()
        var (start, lines) = (0, 0)
        while let end = Self.endOfLine(in: text, from: start) {
            defer { start = end + 1 }
            if end == start { continue }
            guard lines < Self.maximumLines else { return nil }
            take(Line(bytes: UnsafeRawBufferPointer(rebasing: text[start..<end])), &values)
            lines += 1
        }
        isAlive = values.watchdog == "1"
        if values.watchdog == "trigger" { condition = .unwell }
        if let reason = values.errorNumber.flatMap(Self.error) ?? values.errorName { condition = .failed(reason) }
        watchdogTime = values.watchdogTime.flatMap { UInt64($0) }.map(Self.watchdogTime)
    }

    /// Returns the end of a line; nil after the last line.
    ///
    /// A line ends at a newline, a carriage return or the end of the datagram.
    private static func endOfLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        return [0x0A, 0x0D].reduce(bytes.count) { end, byte in
            memchr(base + start, byte, end - start).map { UnsafeRawPointer($0) - base } ?? end
        }
    }

    /// The first values of some names.
    private struct Values {
        var watchdog, watchdogTime, errorNumber: String?
        var errorName: StatusText?
    }

    private mutating func take(_ line: Line, _ values: inout Values) {
        if let text = line.value(of: "STATUS=") {
            status = status ?? text
        } else if line == "READY=1" {
            if condition != .stopping { condition = .ready }
        } else if line == "RELOADING=1" {
            condition = condition ?? .reloading
        } else if line == "STOPPING=1" {
            condition = .stopping
        } else if let value = line.value(of: "WATCHDOG=") {
            values.watchdog = values.watchdog ?? value
        } else if let value = line.value(of: "WATCHDOG_USEC=") {
            values.watchdogTime = values.watchdogTime ?? value
        } else if let value = line.value(of: "ERRNO=") {
            values.errorNumber = values.errorNumber ?? value
        } else if let value = line.value(of: "BUSERROR=") ?? line.value(of: "VARLINKERROR=") {
            values.errorName = values.errorName ?? StatusText(fitting: value)
        }
    }

    private static let errors = Int32(1)...4095
    /// The numbers of errors by their names; strerrorname_np(3) leaves out second names.
    private static let errorNumbers = Dictionary(
        errors.compactMap { number in strerrorname_np(number).map { (String(cString: $0), number) } },
        uniquingKeysWith: { first, _ in first }
    ).merging(["EDEADLOCK": EDEADLOCK, "ENOTSUP": ENOTSUP, "EWOULDBLOCK": EWOULDBLOCK]) { _, second in second }

    /// The text of an error, by its number or by its name, such as `EIO`; nil if there is no such error.
    private static func error(_ text: String) -> StatusText? {
        let number = Int32(text) ?? errorNumbers[text]
        return number.flatMap { errors.contains($0) ? StatusText(fitting: String(cString: strerror($0))) : nil }
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
