// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Testing

@testable import StatusStore

@Suite("What checks measured")
struct MeasurementTests {
    private let fixture: StoreFixture
    private let minute: Int64 = 60_000

    init() throws { fixture = try StoreFixture() }

    private func save(
        _ store: StatusStore, of server: String = "a", _ values: [MeasuredValue], at time: Int64,
        _ change: (inout StoreBatch) -> Void = { _ in }
    ) throws {
        var state = try state(server, "x", at: time)
        state.values = values
        var batch = batch([stored(state)], at: time)
        change(&batch)
        try store.save(batch)
    }

    private func summary(
        _ store: StatusStore, of server: String = "a", until: Int64, buckets: Int = 1, value: String = ""
    ) throws -> StatusSummary {
        try store.summary(
            of: name(server), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: until),
            buckets: buckets, value: value, now: moment(until)
        ) { false }
    }

    private var rows: Int64? {
        get throws { try Database(path: fixture.path).integer("SELECT count(*) FROM measurements") }
    }

    @Test("are averaged in each part of a summary, whose parts without a measurement have none")
    func averages() throws {
        let store = try fixture.openStore()
        for (time, value) in [(1, 10), (4, 20), (7, 60), (31, 5)] as [(Int64, Double)] {
            try save(store, [MeasuredValue("used", value, "%"), MeasuredValue("size", 7, "B")], at: time * minute)
        }
        let summary = try summary(store, until: 40 * minute, buckets: 4)
        #expect(summary.buckets.map(\.value) == [30, nil, nil, 5])
        #expect(summary.measured == SummaryValue(name: "used", unit: "%", names: ["used", "size"]))
        let size = try self.summary(store, until: 40 * minute, value: "size")
        #expect(size.buckets.map(\.value) == [7])
        let unknown = try self.summary(store, until: 40 * minute, value: "other")
        #expect(unknown.buckets.map(\.value) == [nil])
        #expect(unknown.measured?.names == ["used", "size"])
    }

    @Test("are not read for a summary that needs none")
    func unwanted() throws {
        let store = try fixture.openStore()
        try save(store, [MeasuredValue("used", 1)], at: minute)
        let summary = try store.summary(
            of: name("a"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 1000), buckets: 1,
            now: moment(1000)
        ) { false }
        #expect(summary.measured == nil)
    }

    @Test("are kept at most once in three minutes, and after years at most 1440 times")
    func limited() throws {
        let store = try fixture.openStore()
        for second in 0..<170 as Range<Int64> {
            try save(store, [MeasuredValue("n", Double(second))], at: second * 1000)
        }
        #expect(try rows == 3)
        #expect(try summary(store, until: 3 * minute).buckets[0].value == 0)
        for number in 0..<3000 as Range<Int64> {
            // Steps of 19 h and a little reach every slot of all rings.
            try save(store, [MeasuredValue("n", 1)], at: number * (1143 * minute + 90_000))
        }
        #expect(try rows == 3 * 480)
    }

    @Test("of a worse level take the place of those before them in the same three minutes")
    func worst() throws {
        let store = try fixture.openStore()
        for (time, value, level) in [(181, 3, .ok), (190, 55, .critical), (200, 41, .warning), (210, 57, .critical)]
            as [(Int64, Double, Level)]
        {
            var state = try state("a", "x", level: level, at: time * 1000)
            state.values = [MeasuredValue("jobs", value)]
            try store.save(batch([stored(state)], at: time * 1000))
        }
        #expect(try rows == 3)
        #expect(try summary(store, until: 10 * minute).buckets.map(\.value) == [55])
    }

    @Test("of a server that was not checked again are not kept again")
    func unchanged() throws {
        let store = try fixture.openStore()
        var state = try state("a", "x", at: 5 * minute)
        state.values = [MeasuredValue("n", 1)]
        try store.save(batch([stored(state)], at: 5 * minute))
        try store.save(batch([stored(state)], at: 50 * minute))
        #expect(try rows == 3)
    }

    @Test("are forgotten when they are too old, and with the history when it is turned off")
    func forgotten() throws {
        let store = try fixture.openStore()
        for time in [1, 100, 1000] { try save(store, [MeasuredValue("n", 1)], at: Int64(time) * minute) }
        while try store.prune(before: Timestamp(milliseconds: 500 * minute), keeping: 1000) {}
        // The first two were in one slot of the ring of a year.
        #expect(try rows == 2)
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 0) {}
        #expect(try rows == 0)
        try save(store, [MeasuredValue("n", 1)], at: 2000 * minute) { $0.keepsHistory = false }
        #expect(try rows == 0)
    }

    @Test("of a removed server are forgotten with its last change")
    func removed() throws {
        let store = try fixture.openStore()
        let state = try state("a", "x", at: minute)
        let changes = [ChangeKind.added, .removed].map {
            Change($0, at: Timestamp(milliseconds: minute), revision: 0, server: state)
        }
        try save(store, [MeasuredValue("n", 1)], at: 5000 * minute) { $0.changes = changes }
        while try store.prune(before: Timestamp(milliseconds: 2 * minute), keeping: 1000) {}
        #expect(try rows == 0)
    }

    @Test("of a renamed server continue under its new name")
    func renamed() throws {
        let store = try fixture.openStore()
        try save(store, [MeasuredValue("n", 4)], at: minute)
        try save(store, of: "b", [MeasuredValue("n", 6)], at: 6 * minute) { $0.renamed = [(name("a"), name("b"))] }
        #expect(try summary(store, of: "b", until: 10 * minute, buckets: 2).buckets.map(\.value) == [4, 6])
        #expect(try summary(store, of: "a", until: 10 * minute).measured == nil)
    }
}
