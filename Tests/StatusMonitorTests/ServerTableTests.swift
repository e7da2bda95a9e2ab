// SPDX-License-Identifier: Apache-2.0

import StatusModel
import TestSupport
import Testing

@testable import StatusMonitor

@Suite("The table of servers") struct ServerTableTests {
    private func record(_ name: String) -> Ledger.Record {
        let definition = ServerDefinition(name: StatusMonitorTests.name(name), source: "push")
        return Ledger.Record(
            server: Server(name: definition.name), refreshedAt: .zero,
            state: ServerState(name: definition.name, source: "push", phase: .empty), definition: definition)
    }

    @Test("records are found by name, however many were added and removed before", arguments: [1, 255, 256, 257, 1000])
    func findsRecords(count: Int) {
        var table = ServerTable()
        for number in 0..<count { table.insert(record("server-\(number)")) }
        for number in stride(from: 0, to: count, by: 3) { table.remove(name("server-\(number)")) }
        for number in 0..<count {
            let found = table[name("server-\(number)")]?.state.name.rawValue
            #expect(found == (number % 3 == 0 ? nil : "server-\(number)"))
        }
        let names = table.indices.map { table[$0].state.name }
        #expect(Set(names).count == count - (count + 2) / 3)
        for place in table.indices { #expect(table.place(of: table[place].state.name) == place) }
        for name in names { table.remove(name) }
        #expect(table.indices.isEmpty)
        table.insert(record("again"))
        #expect(table[name("again")] != nil)
    }

    @Test(
        "names stay sorted, and are found after any name, as in a plain array", arguments: 1...8 as ClosedRange<UInt64>)
    func sortsNames(seed: UInt64) {
        var random = SeededRandom(state: seed)
        var (names, plain) = (SortedNames(), [ServerName]())
        // More names than two chunks hold; sometimes more are removed than added.
        for step in 0..<8000 {
            let grows = (step / 2000).isMultiple(of: 2) ? 8 : 3
            let some = name("server-\(random.next() % 8000)")
            if Int(random.next() % 10) < grows {
                if !plain.contains(some) {
                    names.insert(some)
                    plain.insert(some, at: plain.firstIndex { $0 > some } ?? plain.count)
                }
            } else if let victim = plain.indices.randomElement(using: &random) {
                names.remove(plain.remove(at: victim))
            }
            guard step.isMultiple(of: 50) else { continue }
            let limit = Int(random.next() % 700)
            #expect(names.names(after: some, limit: limit) == Array(plain.filter { $0 > some }.prefix(limit)))
        }
        #expect(names.names(after: nil, limit: .max) == plain)
        #expect(names.chunks.count > 1)
        #expect(names.chunks.allSatisfy { !$0.isEmpty && $0.count <= SortedNames.mostOfChunk })
        for name in plain { names.remove(name) }
        #expect(names.chunks.isEmpty)
    }

    @Test("names that come in their order fill each chunk")
    func fillsChunks() {
        var names = SortedNames()
        for number in 10_000..<10_000 + 3 * SortedNames.mostOfChunk { names.insert(name("server-\(number)")) }
        #expect(names.chunks.map(\.count) == [512, 512, 512])
    }
}
