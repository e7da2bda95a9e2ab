// SPDX-License-Identifier: Apache-2.0

/// The last report of each user's programs about one subject.
///
/// When a user's reports are forgotten, the previous report counts again.
struct LastWords<Word> {
    /// Reports of more users than this are dropped, the oldest first.
    private static var limit: Int { 8 }

    private var words: [(word: Word, sender: UInt32)] = []

    /// The newest report that still counts.
    var newest: Word? { words.last?.word }

    /// The user whose report that is.
    var newestSender: UInt32? { words.last?.sender }

    /// Notes a user's report.
    mutating func note(_ word: Word, from sender: UInt32) {
        words.removeAll { $0.sender == sender }
        words.append((word, sender))
        if words.count > Self.limit { words.removeFirst() }
    }

    /// Forgets the reports of these users; returns whether the newest report has changed.
    @discardableResult
    mutating func forget(_ users: Set<UInt32>) -> Bool {
        let isOther = words.last.map { users.contains($0.sender) } ?? false
        words.removeAll { users.contains($0.sender) }
        return isOther
    }
}
