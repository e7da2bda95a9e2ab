// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The marks of an axis of time: full hours, days and so on, in local time.
enum TimeMarks {
    private static let (minute, hour, day) = (60, 3600, 86_400)
    /// The times between two marks, in seconds.
    private static let steps =
        [1, 2, 5, 10, 30] + [1, 2, 5, 10, 30].map { $0 * minute } + [1, 2, 3, 6, 12].map { $0 * hour }
        + [1, 2, 7, 14, 30, 90, 365, 3650].map { $0 * day }
    /// The fewest columns from one mark to the next.
    private static let distance = 10

    /// The columns of the marks, from the left, and their words.
    static func marks(_ since: Timestamp, _ until: Timestamp, columns: Int) -> [(column: Int, word: String)] {
        let length = until.milliseconds - since.milliseconds
        guard length > 0, columns > 0,
            let step = steps.first(where: { Double($0) * 1000 * Double(columns) >= Double(length) * Double(distance) })
        else { return [] }
        var marks: [(column: Int, word: String)] = []
        var last: Int?
        for column in 0..<columns {
            let time = since.milliseconds + Int64(Double(length) * Double(column) / Double(columns))
            let local = TimeText.localSeconds(Timestamp(milliseconds: time))
            let number = Int((Double(local) / Double(step)).rounded(.down))
            defer { last = number }
            guard let last, last != number else { continue }
            let mark = Timestamp(milliseconds: time - Int64(local - number * step) * 1000)
            let word = TimeText.mark(mark, step: step, startsDay: number * step % day == 0)
            // When clocks are set, two marks may be close to each other.
            let end = marks.last.map { $0.column + $0.word.count + 1 } ?? 0
            if column >= end, column + word.count <= columns { marks.append((column, word)) }
        }
        return marks
    }
}

extension TimeText {
    /// The word of a mark, if marks are `step` seconds apart.
    fileprivate static func mark(_ time: Timestamp, step: Int, startsDay: Bool) -> String {
        switch step {
        case ..<86_400 where !startsDay: format(time, step < 60 ? "%H:%M:%S" : "%H:%M")
        case ..<(30 * 86_400): format(time, "%m-%d")
        default: format(time, "%Y-%m")
        }
    }
}
