// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// A state machine that decides which address of a host is tried next.
///
/// The name server of the host chooses the addresses, so both their number and that of simultaneous attempts are
/// limited.
struct ConnectionAttempts {
    /// The maximum number of addresses to try.
    static let maximumAddresses = 32
    /// The maximum number of simultaneous attempts, each of which takes a descriptor.
    static let maximumUnderway = 8

    private var rest: ArraySlice<InternetAddress>
    private var isTimerRunning = false
    /// The number of attempts that have not ended.
    private(set) var underway = 0

    init(_ addresses: [InternetAddress]) { rest = addresses.prefix(Self.maximumAddresses) }

    /// The address to try now, and whether to start a timer for the next one; nil if there is none to try.
    mutating func next() -> (address: InternetAddress, needsTimer: Bool)? {
        guard underway < Self.maximumUnderway, let address = rest.popFirst() else { return nil }
        underway += 1
        let needsTimer = !isTimerRunning && !rest.isEmpty
        if needsTimer { isTimerRunning = true }
        return (address, needsTimer)
    }

    /// Notes that an attempt has failed.
    mutating func oneFailed() { underway -= 1 }

    /// Notes that the timer has fired.
    mutating func timeIsUp() { isTimerRunning = false }
}
