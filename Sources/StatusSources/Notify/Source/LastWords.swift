// SPDX-License-Identifier: Apache-2.0

/// What programs have said of one thing: the last word of each user, so that the one before counts again when a user's is forgotten.
struct LastWords<Word> {
    /// Of more users than these the oldest words are forgotten.
    private static var limit: Int { 8 }

    private var words: [(word: Word, sender: UInt32)] = []

    /// What was said last by anybody whose words still count.
    var newest: Word? { words.last?.word }

    /// Takes a user's word.
    mutating func note(_ word: Word, from sender: UInt32) {
        words.removeAll { $0.sender == sender }
        words.append((word, sender))
        if words.count > Self.limit { words.removeFirst() }
    }

    /// Forgets what these users have said; returns whether another word, or none, is the newest now.
    @discardableResult
    mutating func forget(_ users: Set<UInt32>) -> Bool {
        let isOther = words.last.map { users.contains($0.sender) } ?? false
        words.removeAll { users.contains($0.sender) }
        return isOther
    }
}
