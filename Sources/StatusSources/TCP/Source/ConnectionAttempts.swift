// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Decides which address of a host is tried next; does nothing itself.
///
/// Whoever answers for the host's name chooses the addresses, so that neither all of them nor those at a time may be too many.
struct ConnectionAttempts {
    /// How many are tried; a host with more has some that can be reached among these, or a problem.
    static let maximumAddresses = 32
    /// How many are tried at a time, each with a descriptor.
    static let maximumUnderway = 8

    private var rest: ArraySlice<InternetAddress>
    private var isTimerRunning = false
    /// How many have not ended yet.
    private(set) var underway = 0

    init(_ addresses: [InternetAddress]) { rest = addresses.prefix(Self.maximumAddresses) }

    /// The address to be tried now, and whether a timer has to be set for the one after it; nil if none is to be tried.
    mutating func next() -> (address: InternetAddress, needsTimer: Bool)? {
        guard underway < Self.maximumUnderway, let address = rest.popFirst() else { return nil }
        underway += 1
        let needsTimer = !isTimerRunning && !rest.isEmpty
        if needsTimer { isTimerRunning = true }
        return (address, needsTimer)
    }

    /// Notes that an attempt has failed.
    mutating func oneFailed() { underway -= 1 }

    /// Notes that the timer has run out.
    mutating func timeIsUp() { isTimerRunning = false }
}
