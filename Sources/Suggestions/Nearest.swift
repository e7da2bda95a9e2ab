// SPDX-License-Identifier: Apache-2.0

/// Finds the word that a user probably meant.
public enum Nearest {
    /// `; did you mean “WORD”?`, or nothing if no word is near.
    public static func suggestion(for word: String, among known: [String]) -> String {
        let best = known.map { (word: $0, distance: distance(Array(word.utf8), Array($0.utf8))) }
            .min { $0.distance < $1.distance }
        guard let best, best.distance <= max(1, word.utf8.count / 3) else { return "" }
        return "; did you mean “\(best.word)”?"
    }

    /// The number of bytes to insert, remove, replace or swap with their neighbour (optimal string alignment).
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var rows = [Array(0...right.count)]
        for row in 1..<(left.count + 1) {
            var current = [row]
            for column in 1..<(right.count + 1) {
                let replaced = rows[row - 1][column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var least = min(rows[row - 1][column] + 1, current[column - 1] + 1, replaced)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    least = min(least, rows[row - 2][column - 2] + 1)
                }
                current.append(least)
            }
            rows.append(current)
        }
        return rows[left.count][right.count]
    }
}
