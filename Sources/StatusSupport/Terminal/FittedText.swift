// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// Returns as much of the text as fits into the columns.
    public func prefix(columns: Int) -> SubSequence {
        if utf8.count <= columns { return self[...] }
        var used = 0
        var end = startIndex
        for index in indices {
            used += self[index].displayWidth
            if used > columns { break }
            end = self.index(after: index)
        }
        return self[..<end]
    }

    /// Returns the text, cut to the columns if it is wider; a cut text ends in `ellipsis` if that fits.
    public func cut(to columns: Int, ellipsis: String = "") -> String {
        if displayWidth <= columns { return String(self) }
        let room = columns - ellipsis.displayWidth
        return room > 0 ? prefix(columns: room) + ellipsis : String(prefix(columns: Swift.max(0, columns)))
    }

    /// Returns the text in exactly this many columns: cut by ``cut(to:ellipsis:)``, or padded with spaces.
    public func fitted(to columns: Int, ellipsis: String = "") -> String {
        let text = cut(to: columns, ellipsis: ellipsis)
        return text + String(repeating: " ", count: Swift.max(0, columns - text.displayWidth))
    }

    /// Returns the text in at least this many columns, padded with spaces before it.
    public func alignedRight(in columns: Int) -> String {
        String(repeating: " ", count: Swift.max(0, columns - displayWidth)) + self
    }

    /// Returns the text in lines of at most this many columns, broken at spaces if possible.
    public func wrapped(to columns: Int) -> [String] {
        let columns = Swift.max(2, columns)
        if displayWidth <= columns { return [String(self)] }
        var lines: [String] = []
        var line = ""
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let longer = lines.isEmpty && line.isEmpty ? String(word) : line + " " + word
            if longer.displayWidth <= columns {
                line = longer
                continue
            }
            if !line.isEmpty { lines.append(line) }
            line = String(word)
            while line.displayWidth > columns {
                // A line has at least one character, even if it is too wide.
                let part = line.prefix(columns: columns).isEmpty ? line.prefix(1) : line.prefix(columns: columns)
                lines.append(String(part))
                line.removeFirst(part.count)
            }
        }
        return lines + [line]
    }
}
