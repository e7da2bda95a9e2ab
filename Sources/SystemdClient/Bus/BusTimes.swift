// SPDX-License-Identifier: Apache-2.0

/// Limits and pauses of the connection to the service manager.
struct BusTimes {
    /// How long a manager may be off the bus: longer than it takes to execute itself again.
    var absence = Duration.seconds(5)
    /// How often the manager is pinged: it, or the bus, may hang without leaving, or be kept busy by others.
    var betweenPings = Duration.seconds(5)
    /// How long a call may take to be answered: what it is about to report may be as old.
    var answer = Duration.seconds(10)
    /// How long the bus may have no room for reading a unit.
    var patience = Duration.seconds(10)
    /// For how long nothing is reported after a disturbance has been (``BusTrust``).
    var afterDisturbance = Duration.seconds(1)
    /// The pause between two readings of all units while others disturb, besides the time that reading them takes.
    var betweenReadings = Duration.seconds(2)
    /// The pause before a call that the bus has refused is tried again.
    var afterRefusal = Duration.milliseconds(500)

    /// The pause before a lost connection is replaced; it doubles from the first to the longest one.
    static let (firstPause, longestPause) = (Duration.milliseconds(100), Duration.seconds(5))
    /// How often all units are read again: the bus drops signals if its queue for this process is full.
    static let betweenRegularReadings = Duration.seconds(300)
    /// An answer as late as this means that the manager, or the bus, may be kept busy.
    ///
    /// While more than 1024 messages wait to be sent, the manager goes on answering and sends no signals (MANAGER_BUS_BUSY_THRESHOLD in
    /// systemd's src/core/manager.c). They do not wait before 8 MiB fill its socket: an answer behind that much is later.
    static let lateAnswer = Duration.milliseconds(20)

    /// How long it takes to read so many units; beyond 18 s, it is not waited for.
    static func reading(units count: Int) -> Duration { min(.milliseconds(10) * count, .seconds(18)) }

    /// The pause before so many units are read again while others disturb: the bus may have dropped signals, or the manager be too busy to send
    /// them.
    ///
    /// A unit that has failed may be shown as it was for that long; but reading many costs the service manager some time.
    func betweenReadings(ofUnits count: Int) -> Duration { betweenReadings + Self.reading(units: count) }
}
