// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Binds the parameters of a statement, from the first to the last.
struct Parameters {
    private let statement: Statement
    private var index: Int32 = 0

    init(_ statement: Statement) { self.statement = statement }

    mutating func add(_ value: Int64?) throws(SQLiteError) {
        try statement.bind(value, at: index)
        index += 1
    }

    mutating func add(_ value: String?) throws(SQLiteError) {
        try statement.bind(value, at: index)
        index += 1
    }

    mutating func add(_ value: Int) throws(SQLiteError) { try add(Int64(value)) }

    mutating func add(_ value: Bool) throws(SQLiteError) { try add(value ? 1 : 0) }

    mutating func add(_ value: Timestamp?) throws(SQLiteError) { try add(value?.milliseconds) }

    /// A time in microseconds.
    mutating func add(_ value: Duration?) throws(SQLiteError) { try add(value?.microseconds) }
}

extension Database {
    /// Runs a statement with parameters.
    func run(
        _ sql: String, _ write: (inout Parameters) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let statement = try statement(sql)
        var parameters = Parameters(statement)
        try write(&parameters)
        try statement.run()
    }

    /// The integer in the first row and column of a query; nil if there is none.
    func integer(_ sql: String, _ parameter: String? = nil) throws(SQLiteError) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        if let parameter { try statement.bind(parameter, at: 0) }
        return try statement.step() ? statement.integer(0) : nil
    }
}

/// Reads the columns of a row, from the first to the last.
struct Columns {
    private let statement: Statement
    private var index: Int32 = 0

    init(_ statement: Statement) { self.statement = statement }

    mutating func integer() -> Int64? {
        defer { index += 1 }
        return statement.integer(index)
    }

    /// A text that is cheap to compare, even if another program has written it.
    mutating func text() -> String? {
        defer { index += 1 }
        return statement.text(index).map { StreamSafeText.text($0) }
    }

    /// A text as it may be shown, in one line.
    mutating func visibleText() -> String? { text().map { VisibleText.escape($0) } }

    /// A number, limited so that it can still grow without an overflow.
    mutating func count() -> Int { Int((integer() ?? 0).clamped(to: 0...1 << 53)) }

    mutating func flag() -> Bool { integer() == 1 }

    mutating func time() -> Timestamp? {
        integer().map { Timestamp(milliseconds: $0.clamped(to: Timestamp.expressible)) }
    }

    mutating func duration() -> Duration? { integer().map { .microseconds($0) } }

    mutating func user() -> UInt32? { integer().flatMap { UInt32(exactly: $0) } }

    mutating func name() -> ServerName? { text().flatMap { ServerName($0) } }
}

extension Duration {
    /// The time in microseconds; a time that is too long becomes the longest that fits.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (micros, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if isTooLong { return seconds < 0 ? .min : .max }
        let (sum, isOverflow) = micros.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return isOverflow ? micros : sum
    }
}

extension Int64 {
    fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
