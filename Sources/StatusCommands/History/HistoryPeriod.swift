// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// The period that `--since` and `--until` name.
struct HistoryPeriod: Hashable {
    static let sinceOption = Options.time(
        "since",
        help: "The beginning, such as -2h, yesterday or “2026-11-25 12:00” (with --summary: 24 h before the end).")
    static let untilOption = Options.time("until", help: "The end (default: now).")

    var since, until: Timestamp?

    init(since: Timestamp? = nil, until: Timestamp? = nil) { (self.since, self.until) = (since, until) }

    /// The period that the user gave, as it is now.
    init(_ arguments: ParsedArguments, now: Timestamp) {
        since = arguments[Self.sinceOption]?.timestamp(now: now, local: .local)
        until = arguments[Self.untilOption]?.timestamp(now: now, local: .local)
    }

    /// Checks that it does not end before it begins.
    func check() throws(InvalidUsage) {
        guard let since, let until, until < since else { return }
        throw InvalidUsage("--since is after --until: \(TimeText.full(since)) is after \(TimeText.full(until))")
    }

    /// The same period without the future, of which no summary knows anything.
    func upTo(_ now: Timestamp) throws(InvalidUsage) -> HistoryPeriod {
        let until = min(until ?? now, now)
        if let since, since > until {
            throw InvalidUsage("--since is in the future: \(TimeText.full(since)); a summary needs a time before now")
        }
        return HistoryPeriod(since: since, until: until)
    }

    /// ` since …`, ` until …`, both or nothing.
    var phrase: String {
        (since.map { " since \(TimeText.full($0))" } ?? "") + (until.map { " until \(TimeText.full($0))" } ?? "")
    }
}
