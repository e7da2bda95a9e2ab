// SPDX-License-Identifier: Apache-2.0

import Systemd
import Testing

@Suite("Shares of a turn") struct TurnSharesTests {
    @Test("an owner whose connections have taken a millisecond together waits for the next turn; another one does not")
    func share() {
        var shares = TurnShares()
        func mustWait(_ owner: UInt32, _ turn: UInt64) -> Bool {
            shares.mustWait(owner, in: turn, hasWaited: false)
        }
        for _ in 0..<4 {
            #expect(!mustWait(1, 7))
            shares.note(250_000, by: 1)
        }
        #expect(mustWait(1, 7))
        #expect(!mustWait(2, 7))
        #expect(!mustWait(1, 8))
    }

    @Test("owners of whom something waits share the millisecond")
    func several() {
        var shares = TurnShares()
        for owner: UInt32 in 1...10 { shares.beginWait(of: owner) }
        func mustWait() -> Bool { shares.mustWait(1, in: 7, hasWaited: true) }
        #expect(!mustWait())
        shares.note(90_000, by: 1)
        #expect(!mustWait())
        shares.note(10_000, by: 1)
        #expect(mustWait())
    }

    @Test("connections that wait go before newer ones of the same owner")
    func order() {
        var shares = TurnShares()
        func mustWait(_ owner: UInt32, hasWaited: Bool) -> Bool {
            shares.mustWait(owner, in: 1, hasWaited: hasWaited)
        }
        shares.beginWait(of: 1)
        shares.beginWait(of: 1)
        #expect(mustWait(1, hasWaited: false))
        #expect(!mustWait(2, hasWaited: false))
        shares.endWait(of: 1)
        #expect(!mustWait(1, hasWaited: true))
        #expect(mustWait(1, hasWaited: false))
        shares.endWait(of: 1)
        #expect(!mustWait(1, hasWaited: false))
    }
}
