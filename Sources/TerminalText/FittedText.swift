// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// As much of the text as fits into so many columns.
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

    /// The text, cut to so many columns if it is wider; then it ends in `ellipsis`, if there is room for that.
    public func cut(to columns: Int, ellipsis: String = "") -> String {
        if displayWidth <= columns { return String(self) }
        let room = columns - ellipsis.displayWidth
        return room > 0 ? prefix(columns: room) + ellipsis : String(prefix(columns: Swift.max(0, columns)))
    }

    /// The text in exactly so many columns: cut like ``cut(to:ellipsis:)``, or with blanks after it.
    public func fitted(to columns: Int, ellipsis: String = "") -> String {
        let text = cut(to: columns, ellipsis: ellipsis)
        return text + String(repeating: " ", count: Swift.max(0, columns - text.displayWidth))
    }

    /// The text with blanks before it, in at least so many columns.
    public func alignedRight(in columns: Int) -> String {
        String(repeating: " ", count: Swift.max(0, columns - displayWidth)) + self
    }
}
