// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Decides what this host's daemon is told of the connection to the broker, through which other hosts are followed.
struct OwnPresence {
    /// How often it is told that the connection is there.
    static let beat = Duration.seconds(60)
    /// How long a connection to one of the brokers may take to come back.
    static let patience = Duration.seconds(10)
    /// After a loss of this length, the daemon takes all hosts for lost.
    static let longLoss = Duration.seconds(180)
    /// How long hosts may take to come back to a broker: their longest pause is 26 s.
    static let returnTime = Duration.seconds(30)

    private let machine: String
    /// The number of the connection, which grows with each.
    private var epoch = 0
    /// When the connection was lost; nil while it is there.
    private var lostAt: Duration?
    /// When it is due to tell the daemon; nil if it knows.
    private var due: Duration?

    /// Whether it will be due to tell that there is no connection.
    var isWaiting: Bool { lostAt != nil && due != nil }

    init(machine: String, now: Duration) {
        self.machine = machine
        (lostAt, due) = (now, now + Self.patience)
    }

    mutating func connected(now: Duration, wall: Timestamp) {
        epoch = max(epoch + 1, Int(clamping: wall.milliseconds))
        // As long as it is lost itself, the hosts are not told as lost.
        let isLong = lostAt.map { due == nil && now - $0 >= Self.longLoss } ?? false
        (lostAt, due) = (nil, isLong ? now + Self.returnTime : now)
    }

    mutating func disconnected(now: Duration) {
        guard lostAt == nil else { return }
        (lostAt, due) = (now, now + Self.patience)
    }

    /// The daemon may have forgotten what it was told.
    mutating func daemonIsBack(now: Duration) {
        due = max(now, (lostAt ?? now - Self.patience) + Self.patience)
    }

    /// Returns what to tell the daemon now; nil for nothing.
    mutating func take(now: Duration, wall: Timestamp) -> Presence? {
        guard let due, due <= now else { return nil }
        self.due = lostAt == nil ? now + Self.beat : nil
        // Before the first connection, this number is as good as any.
        if epoch == 0 { epoch = Int(clamping: wall.milliseconds) }
        return Presence(state: lostAt == nil ? .ready : .lost, epoch: epoch, machine: machine)
    }
}
