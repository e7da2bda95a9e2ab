// SPDX-License-Identifier: Apache-2.0

extension TimeExpression {
    /// Reads a time; nil if it has no accepted form (``rule``).
    public init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "\t" }
        guard let first = words.first else { return nil }
        if let duration = Self.relative(text, words) {
            self.init(form: .now(plus: duration), zone: .local)
        } else if words.count == 1, let seconds = Self.epoch(first) {
            self.init(form: .epoch(seconds), zone: .local)
        } else if let (form, zone) = Self.absolute(words) {
            self.init(form: form, zone: zone)
        } else {
            return nil
        }
    }

    /// Reads `-2h`, `+5min`, `2h ago` or `5min left`.
    private static func relative(_ text: String, _ words: [Substring]) -> Duration? {
        func span(_ text: some StringProtocol) -> Duration? { TimeSpan.parse(String(text)) }
        switch words.last {
        case "ago": return span(words.dropLast().joined(separator: " ")).map { .zero - $0 }
        case "left": return span(words.dropLast().joined(separator: " "))
        default: break
        }
        let trimmed = words.joined(separator: " ")
        switch trimmed.first {
        case "-": return span(trimmed.dropFirst()).map { .zero - $0 }
        case "+": return span(trimmed.dropFirst())
        default: return nil
        }
    }

    /// Reads `@1795608000`, with or without a fraction; returns milliseconds.
    private static func epoch(_ word: Substring) -> Int64? {
        guard word.first == "@", word.dropFirst().last?.isNumber == true else { return nil }
        return TimeSpan.parse(String(word.dropFirst())).map(\.milliseconds)
    }

    /// Reads a named day, a date, a time of day, or a date and a time; the zone is optional.
    private static func absolute(_ words: [Substring]) -> (Form, Zone)? {
        var words = words[...]
        var weekday: Int?
        if words.count > 1, let found = words.first.flatMap(Self.weekday) {
            weekday = found
            words.removeFirst()
        }
        guard var first = words.popFirst() else { return nil }
        if weekday == nil, let form = named(first) { return zone(words).map { (form, $0) } }
        // RFC 3339 joins the date and the time.
        if let separator = first.firstIndex(where: { $0 == "T" || $0 == "t" }) {
            words.insert(first[first.index(after: separator)...], at: words.startIndex)
            first = first[..<separator]
        }
        guard let date = date(first) else {
            guard weekday == nil, let (time, milliseconds, offset) = clock(first) else { return nil }
            return (offset ?? zone(words)).map { (.ofToday(time, milliseconds: milliseconds), $0) }
        }
        guard weekday ?? date.weekday == date.weekday else { return nil }
        guard let next = words.first, let (time, milliseconds, offset) = clock(next) else {
            return zone(words).map { (.date(date, milliseconds: 0), $0) }
        }
        words.removeFirst()
        if offset != nil, !words.isEmpty { return nil }
        var whole = date
        (whole.hour, whole.minute, whole.second) = (time.hour, time.minute, time.second)
        return (offset ?? zone(words)).map { (.date(whole, milliseconds: milliseconds), $0) }
    }

    private static func named(_ word: Substring) -> Form? {
        switch word {
        case "now": .now(plus: .zero)
        case "today": .day(after: 0)
        case "yesterday": .day(after: -1)
        case "tomorrow": .day(after: 1)
        default: nil
        }
    }

    /// Reads the zone from the remaining words; without any, it is the local zone.
    private static func zone(_ words: ArraySlice<Substring>) -> Zone? {
        guard let word = words.first else { return .local }
        return words.count == 1 ? zone(word) : nil
    }
}
