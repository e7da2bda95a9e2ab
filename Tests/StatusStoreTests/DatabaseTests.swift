// SPDX-License-Identifier: Apache-2.0

import StatusStore
import Testing

@Suite("Databases")
struct DatabaseTests {
    private func database() throws -> Database {
        let database = try Database(path: ":memory:")
        try database.execute("CREATE TABLE t (number, text)")
        return database
    }

    private func insert(_ number: Int64?, _ text: String?, into database: Database) throws {
        let statement = try database.statement("INSERT INTO t VALUES (?, ?)")
        try statement.bind(number, at: 0)
        try statement.bind(text, at: 1)
        try statement.run()
    }

    private func rows(of database: Database) throws -> [String] {
        var rows: [String] = []
        let statement = try database.statement("SELECT number, text FROM t ORDER BY rowid")
        while try statement.step() { rows.append("\(statement.integer(0) as Any) \(statement.text(1) as Any)") }
        return rows
    }

    @Test("return the bound values, including null and empty texts")
    func values() throws {
        let database = try database()
        try insert(1, "a\0b", into: database)
        try insert(nil, "", into: database)
        try insert(.min, nil, into: database)
        #expect(
            try rows(of: database) == [
                "Optional(1) Optional(\"a\\0b\")", "nil Optional(\"\")", "Optional(\(Int64.min)) nil",
            ])
    }

    @Test("return nil for a column of another type, and for a text that is not UTF-8")
    func otherTypes() throws {
        let database = try database()
        try database.execute("INSERT INTO t VALUES ('word', 5), (1.5, x'41'), (NULL, CAST(x'ff' AS TEXT))")
        #expect(try rows(of: database) == ["nil nil", "nil nil", "nil nil"])
    }

    @Test("roll back a transaction that fails")
    func rollback() throws {
        let database = try database()
        try insert(1, nil, into: database)
        #expect(throws: SQLiteError.self) {
            try database.transaction { () throws(SQLiteError) in
                try database.execute("DELETE FROM t")
                throw SQLiteError(.full, "full")
            }
        }
        #expect(try rows(of: database).count == 1)
        try database.transaction { () throws(SQLiteError) in try database.execute("DELETE FROM t") }
        #expect(try rows(of: database).isEmpty)
    }

    @Test("report the reason for an error as one phrase")
    func reasons() throws {
        #expect(throws: SQLiteError(.inaccessible, "unable to open database file (no such file or directory)")) {
            try Database(path: "/nonexistent/file")
        }
        let database = try database()
        #expect(throws: SQLiteError(.unfit, "no such table: u")) { try database.execute("SELECT * FROM u") }
    }

    @Test("end a statement that is cancelled")
    func cancelling() throws {
        let database = try database()
        var calls = 0
        database.setCancellation {
            calls += 1
            return calls == 3
        }
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        #expect(throws: SQLiteError(.interrupted, "interrupted")) { try database.execute(endless) }
        try database.execute("SELECT 1")
    }
}
