// SPDX-License-Identifier: Apache-2.0

/// Finds the word that a user probably meant.
public enum Nearest {
    /// Returns `; did you mean “WORD”?`, or an empty text if no word is near.
    public static func suggestion(for word: String, among known: some Sequence<String>) -> String {
        self.word(near: word, among: known).map { "; did you mean “\($0)”?" } ?? ""
    }

    /// Returns the word that a mistyped word probably stands for; upper and lower case are equal.
    ///
    /// If exactly one known word begins with the given one, which must have at least two letters, that word is
    /// returned. Otherwise the first of the words with the smallest difference is returned. At most a third of the
    /// letters may differ, or one letter of two.
    public static func word(near word: String, among known: some Sequence<String>) -> String? {
        let bytes = Array(word.lowercased().utf8)
        var (nearest, limit) = (String?.none, bytes.count < 2 ? 0 : max(1, bytes.count / 3))
        var (longer, longerCount) = (String?.none, 0)
        for candidate in known {
            let other = Array(candidate.lowercased().utf8)
            if bytes.count >= 2, other.starts(with: bytes) { (longer, longerCount) = (candidate, longerCount + 1) }
            guard let distance = distance(bytes, other, atMost: limit) else { continue }
            (nearest, limit) = (candidate, distance - 1)
            if distance == 0 { break }
        }
        return longerCount == 1 ? longer : nearest
    }

    /// Counts the bytes to insert, remove, replace or swap with their neighbour; returns nil if more than `limit`.
    ///
    /// This is the optimal string alignment distance.
    static func distance(_ left: [UInt8], _ right: [UInt8], atMost limit: Int) -> Int? {
        guard abs(left.count - right.count) <= limit else { return nil }
        var (former, last) = ([Int](), Array(0...right.count))
        for row in 1..<(left.count + 1) {
            var current = [row]
            for column in 1..<(right.count + 1) {
                let replaced = last[column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var least = min(last[column] + 1, current[column - 1] + 1, replaced)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    least = min(least, former[column - 2] + 1)
                }
                current.append(least)
            }
            // All later rows are at least as large as the smallest value in these two.
            guard (last + current).contains(where: { $0 <= limit }) else { return nil }
            (former, last) = (last, current)
        }
        return last[right.count] <= limit ? last[right.count] : nil
    }
}
