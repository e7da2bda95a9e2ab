// SPDX-License-Identifier: Apache-2.0

/// The lines on a terminal, kept so that only changed ones are written.
public struct Screen {
    public struct Size: Hashable, Sendable {
        public var width: Int
        public var height: Int

        /// Creates a size; values below 1 become 1.
        public init(width: Int, height: Int) {
            self.width = max(1, width)
            self.height = max(1, height)
        }
    }

    private var size: Size?
    private var rows: [String] = []

    public init() {}

    /// Forgets the contents, so that the next update writes everything.
    public mutating func forget() { size = nil }

    /// Returns the output that makes a terminal of this size show these lines; empty if it already does.
    ///
    /// A line is text with control sequences for its rendition; the terminal, which does not wrap lines, cuts it. Rows
    /// without a line are blank.
    public mutating func update(_ lines: [String], size: Size) -> String {
        var output = ""
        if self.size != size {
            // The terminal may have wrapped its lines.
            output = "\u{1b}[0m\u{1b}[2J"
            rows = Array(repeating: "", count: size.height)
        }
        for row in 0..<size.height {
            let line = row < lines.count ? lines[row] : ""
            guard line != rows[row] else { continue }
            output += "\u{1b}[\(row + 1);1H\u{1b}[2K\(line)\u{1b}[0m"
            rows[row] = line
        }
        self.size = size
        return output
    }
}
