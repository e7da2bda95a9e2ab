// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// A value of a parameter, as SQLite stores it.
enum SQLValue { case integer(Int64), text(String) }

protocol SQLConvertible { var sqlValue: SQLValue { get } }

extension Int64: SQLConvertible { var sqlValue: SQLValue { .integer(self) } }
extension Int: SQLConvertible { var sqlValue: SQLValue { .integer(Int64(self)) } }
extension UInt32: SQLConvertible { var sqlValue: SQLValue { .integer(Int64(self)) } }
extension Bool: SQLConvertible { var sqlValue: SQLValue { .integer(self ? 1 : 0) } }
extension Timestamp: SQLConvertible { var sqlValue: SQLValue { .integer(milliseconds) } }
extension Duration: SQLConvertible { var sqlValue: SQLValue { .integer(microseconds) } }
extension String: SQLConvertible { var sqlValue: SQLValue { .text(self) } }

extension Statement {
    /// Binds the parameters, from the first to the last; nil is null.
    func bind(_ values: [(any SQLConvertible)?]) throws(SQLiteError) {
        for (index, value) in zip(Int32(0)..., values) {
            switch value?.sqlValue {
            case .integer(let number): try bind(number, at: index)
            case .text(let text): try bind(text, at: index)
            case nil: try bind(Int64?.none, at: index)
            }
        }
    }
}

extension Database {
    /// Runs a statement with these parameters.
    func run(_ sql: String, _ values: [(any SQLConvertible)?]) throws(SQLiteError) {
        let statement = try statement(sql)
        try statement.bind(values)
        try statement.run()
    }

    /// The integer in the first row and column of a query; nil if there is none.
    func integer(_ sql: String, _ parameter: String? = nil) throws(SQLiteError) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        if let parameter { try statement.bind(parameter, at: 0) }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// What `read` returns for the rows of a query, without nil.
    func rows<Value>(
        _ sql: String, _ parameters: [(any SQLConvertible)?] = [], _ read: (Statement) -> Value?
    ) throws(SQLiteError) -> [Value] {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(parameters)
        var rows: [Value] = []
        while try statement.step() { if let row = read(statement) { rows.append(row) } }
        return rows
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

extension Int64 {
    fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
