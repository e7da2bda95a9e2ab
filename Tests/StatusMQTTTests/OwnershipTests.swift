// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusMQTT

@Suite("Two machines with one name") struct OwnershipTests {
    private let machines = (String(repeating: "a", count: 32), String(repeating: "b", count: 32))

    private func presence(_ state: HostState = .ready, epoch: Int, first: Int? = nil, of machine: String? = nil)
        -> Presence
    {
        Presence(state: state, epoch: epoch, machine: machine ?? machines.1, first: first ?? epoch)
    }

    private func owner(epoch: Int) -> Ownership {
        var ownership = Ownership(machine: machines.0)
        _ = ownership.looked()
        ownership.connected(epoch: epoch)
        return ownership
    }

    @Test("a name that nobody has is taken, and so is one whose machine is lost or stopped, or is this one")
    func free() {
        var ownership = Ownership(machine: machines.0)
        #expect(ownership.looked() == .publish)
        #expect(ownership.looked() == nil)
        for kept in [
            presence(.lost, epoch: 5), presence(.stopped, epoch: 5), presence(epoch: 5, of: machines.0),
        ] {
            var ownership = Ownership(machine: machines.0)
            #expect(ownership.heard(kept, now: .zero) == .publish)
        }
    }

    @Test("the second machine waits until the first is lost")
    func second() {
        var ownership = Ownership(machine: machines.0)
        #expect(ownership.heard(presence(epoch: 5), now: .zero) == .hold(presence(epoch: 5)))
        #expect(ownership.looked() == nil)
        #expect(ownership.heard(presence(.lost, epoch: 5), now: .seconds(1)) == .publish)
    }

    @Test("a machine whose will was never sent is gone after 180 s; what the broker kept is no sign of life")
    func silent() {
        var ownership = Ownership(machine: machines.0)
        _ = ownership.heard(presence(epoch: 5), now: .zero)
        #expect(ownership.heard(presence(epoch: 5), now: .seconds(100)) == nil)
        #expect(ownership.tick(now: .seconds(179)) == nil)
        #expect(ownership.tick(now: .seconds(180)) == .publish)
        var other = Ownership(machine: machines.0)
        _ = other.heard(presence(epoch: 5), now: .zero)
        var beat = presence(epoch: 5)
        beat.at = Timestamp(milliseconds: 1)
        #expect(other.heard(beat, now: .seconds(100)) == nil)
        #expect(other.tick(now: .seconds(180)) == nil)
    }

    @Test("of two that publish, exactly one yields, and it is always the later one", arguments: [3, 5, 9])
    func conflict(other: Int) {
        var one = owner(epoch: 4)
        var two = Ownership(machine: machines.1)
        _ = two.looked()
        two.connected(epoch: other)
        var yielded: [Int] = []
        // Each hears the other, which connects again with a higher number if it stays.
        var epochs = (4, other)
        for _ in 0..<6 where yielded.isEmpty {
            switch one.heard(presence(epoch: epochs.1, first: other), now: .zero) {
            case .stay:
                epochs.0 = max(epochs.0, epochs.1) + 1
                one.connected(epoch: epochs.0)
            case .yield: yielded.append(4)
            default: break
            }
            switch two.heard(presence(epoch: epochs.0, first: 4, of: machines.0), now: .zero) {
            case .stay:
                epochs.1 = max(epochs.0, epochs.1) + 1
                two.connected(epoch: epochs.1)
            case .yield: yielded.append(other)
            default: break
            }
        }
        #expect(yielded == [max(4, other)])
    }

    @Test("a late will of an earlier connection is overruled")
    func lateWill() {
        var ownership = owner(epoch: 7)
        #expect(ownership.heard(presence(.lost, epoch: 6, of: machines.0), now: .zero) == .sayReady)
        #expect(ownership.heard(nil, now: .zero) == .sayReady)
        #expect(ownership.heard(presence(epoch: 7, of: machines.0), now: .zero) == nil)
    }

    @Test("after the will of the present connection, or the end of a later one, only a new connection counts")
    func ownWill() {
        var ownership = owner(epoch: 7)
        #expect(ownership.heard(presence(.lost, epoch: 7, of: machines.0), now: .zero) == .connectAgain)
        for state in [HostState.lost, .stopped] {
            #expect(ownership.heard(presence(state, epoch: 8), now: .zero) == .connectAgain)
        }
        let own = presence(.stopped, epoch: 7, of: machines.0)
        #expect(ownership.heard(own, mayBeStopped: true, now: .zero) == .sayReady, "said while statusd is away")
        #expect(ownership.heard(own, now: .zero) == .connectAgain, "said by another client")
    }
}
