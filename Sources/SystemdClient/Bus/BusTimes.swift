// SPDX-License-Identifier: Apache-2.0

/// Limits and pauses of the connection to the service manager.
struct BusTimes {
    /// How long a manager may be off the bus: longer than `systemctl daemon-reexec` takes.
    var absence = Duration.seconds(5)
    /// How often the manager is pinged.
    ///
    /// It or the bus may hang without disconnecting, or be kept busy by others.
    var betweenPings = Duration.seconds(5)
    /// The timeout of a call.
    ///
    /// A state that is reported may be that old.
    var answer = Duration.seconds(10)
    /// How long the bus may refuse to read a unit for lack of room.
    var patience = Duration.seconds(10)
    /// For how long no disturbance is reported after one was (``BusTrust``).
    var afterDisturbance = Duration.seconds(1)
    /// The pause between two readings of all units during disturbances, without the time that reading takes.
    var betweenReadings = Duration.seconds(2)
    /// The pause before retrying a call that the bus has refused.
    var afterRefusal = Duration.milliseconds(500)

    /// The pause before a lost connection is replaced; it doubles from the first to the longest.
    static let (firstPause, longestPause) = (Duration.milliseconds(100), Duration.seconds(5))
    /// How often all units are read again.
    ///
    /// The bus drops signals if its queue for this process is full.
    static let betweenRegularReadings = Duration.seconds(300)
    /// An answer that takes longer means that the manager or the bus may be kept busy.
    ///
    /// While more than 1024 messages wait to be sent, the manager answers but sends no signals
    /// (MANAGER_BUS_BUSY_THRESHOLD in systemd's src/core/manager.c). They wait only if 8 MiB fill its socket, and an
    /// answer behind so much takes longer.
    static let lateAnswer = Duration.milliseconds(20)

    /// How long reading so many units takes, up to 18 s.
    static func reading(units count: Int) -> Duration { min(.milliseconds(10) * count, .seconds(18)) }

    /// The pause before so many units are read again during disturbances, which may have cost signals.
    ///
    /// A unit that has failed may be shown as it was for that long. But reading many units costs the service manager
    /// time.
    func betweenReadings(ofUnits count: Int) -> Duration { betweenReadings + Self.reading(units: count) }
}
