// SPDX-License-Identifier: Apache-2.0

import StatusModel
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
}
