// SPDX-License-Identifier: Apache-2.0

/// The contents of a terminal, kept so that only changes are written.
public struct Screen {
    /// The size of a terminal.
    public struct Size: Hashable, Sendable {
        /// The number of columns.
        public var width: Int
        /// The number of rows.
        public var height: Int

        /// Creates a size; values below 1 become 1.
        public init(width: Int, height: Int) {
            self.width = max(1, width)
            self.height = max(1, height)
        }
    }

    private var size: Size?
    private var rows: [CellRow] = []

    /// Creates a screen with unknown contents.
    public init() {}

    /// Forgets the contents, so that the next update writes everything.
    public mutating func forget() { size = nil }

    /// Returns the output that makes a terminal of this size show these lines; empty if it already does.
    ///
    /// A line is text with control sequences for its rendition. Rows without a line are blank.
    public mutating func update(_ lines: [String], size: Size) -> String {
        let new = (0..<size.height).map { CellRow($0 < lines.count ? lines[$0] : "", width: size.width) }
        var writer = Writer()
        if self.size != size {
            // The terminal may have wrapped its lines.
            writer.clear()
            rows = Array(repeating: CellRow("", width: size.width), count: size.height)
        }
        for (number, (old, new)) in zip(rows, new).enumerated() where old != new {
            writer.write(old, new, row: number)
        }
        self.size = size
        rows = new
        return writer.finish()
    }
}

/// Writes the cells that have changed.
private struct Writer {
    /// The minimum number of unchanged cells to skip: moving the cursor takes as many bytes as fewer cells.
    private static let shortestSkip = 6

    private var output = ""
    private var rendition = Rendition()

    mutating func clear() { output += "\u{1b}[0m\u{1b}[2J" }

    mutating func write(_ old: CellRow, _ new: CellRow, row: Int) {
        let count = new.cells.count
        var column = 0
        while column < count {
            guard old.cells[column] != new.cells[column] else {
                column += 1
                continue
            }
            // The right half of a wide character is written with its left half.
            while column > 0, new.cells[column].character == nil { column -= 1 }
            move(row, column)
            column = writeRun(old, new, row: row, from: column)
        }
    }

    /// Writes cells until a long run of unchanged ones; returns the column after the written cells.
    private mutating func writeRun(_ old: CellRow, _ new: CellRow, row: Int, from start: Int) -> Int {
        var column = start
        var end = start
        while column < new.cells.count, column - end < Self.shortestSkip {
            if old.cells[column] != new.cells[column] { end = column + 1 }
            column += 1
        }
        for column in start..<end {
            let cell = new.cells[column]
            guard let character = cell.character else { continue }
            if cell.rendition != rendition {
                rendition = cell.rendition
                output += rendition.sequence
            }
            guard !character.hasCertainWidth else {
                output.append(character)
                continue
            }
            // Terminals disagree on how many cells they draw, and on the position of the cursor afterwards. So the
            // cells are cleared first, and the cursor is moved.
            output += String(repeating: " ", count: character.displayWidth)
            move(row, column)
            output.append(character)
            return column + character.displayWidth
        }
        return end
    }

    private mutating func move(_ row: Int, _ column: Int) { output += "\u{1b}[\(row + 1);\(column + 1)H" }

    mutating func finish() -> String {
        if rendition != Rendition() { output += Rendition().sequence }
        return output
    }
}
