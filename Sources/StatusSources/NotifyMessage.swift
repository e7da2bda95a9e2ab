// SPDX-License-Identifier: Apache-2.0

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

    /// Reads a datagram.
    ///
    /// What is unknown in it is passed over, as the service manager does; of what stands twice the last holds.
    init(_ bytes: UnsafeRawBufferPointer) {
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == 0 }) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            // What is no UTF-8 is repaired: the sender cannot be told.
            take(
                String(decoding: line[..<equals], as: UTF8.self),
                String(decoding: line[line.index(after: equals)...], as: UTF8.self))
        }
    }

    private mutating func take(_ name: String, _ value: String) {
        switch (name, value) {
        case ("STATUS", _): status = value
        case ("READY", "1"): condition = .ready
        case ("RELOADING", "1"): condition = .reloading
        case ("STOPPING", "1"): condition = .stopping
        case ("WATCHDOG", "1"): isAlive = true
        case ("WATCHDOG", "trigger"): condition = .unwell
        case ("WATCHDOG_USEC", _): if let number = UInt64(value) { watchdogTime = Self.watchdogTime(number) }
        case ("ERRNO", _): if let number = Int32(value), number > 0 { condition = .failed(number) }
        default: break
        }
    }

    private static func watchdogTime(_ microseconds: UInt64) -> Duration {
        let time = Duration.microseconds(Int64(clamping: microseconds))
        return time == .zero || time > watchdogTimes.upperBound ? .zero : max(time, watchdogTimes.lowerBound)
    }
}
