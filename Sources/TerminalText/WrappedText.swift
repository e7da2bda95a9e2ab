// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The lines of the text if each has so many columns, broken at blanks where possible.
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
                // At least one character, however wide.
                let part = line.prefix(columns: columns).isEmpty ? line.prefix(1) : line.prefix(columns: columns)
                lines.append(String(part))
                line.removeFirst(part.count)
            }
        }
        return lines + [line]
    }
}
