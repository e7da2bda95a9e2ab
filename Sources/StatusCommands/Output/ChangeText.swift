// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Entries of the history as lines for people.
struct ChangeText {
    /// The widest span, such as `23h 59min+`.
    private static let spanWidth = 10
    private static let levelWidth = 8
    /// A narrower terminal has no room for spans and for today's date.
    private static let narrow = 52
    /// A text is not cut to less than this before what follows it is cut, too.
    private static let shortestText = 12

    let style: Style
    /// The width of the terminal; nil if lines are not cut.
    let width: Int?
    let namesServers: Bool

    /// The line of an entry; `user` is the name of the user whose client caused it.
    func line(_ change: Change, user: String?, now: Timestamp) -> String {
        let by = user.map { "  by \($0)" } ?? ""
        let isNarrow = width.map { $0 < Self.narrow } ?? false
        let time = isNarrow ? TimeText.short(change.at, now: now) : TimeText.full(change.at)
        guard change.kind == .changed, let server = change.server else {
            let span = isNarrow ? "" : String(repeating: " ", count: Self.spanWidth + 2)
            let line = "\(time)  \(span)-- \(Self.event(change))\(Self.omitted(change))\(by)"
            return style.faint(cut(line, to: width))
        }
        let span = isNarrow ? [] : [Self.span(of: change, now: now).alignedRight(in: Self.spanWidth)]
        let word = ServerText.levelWord(server).fitted(to: Self.levelWidth)
        let start = [time] + span + [word]
        // Quotes show where a text ends that looks like a reason or a user.
        let quote = server.status == nil ? "" : "\""
        let headline = ServerText.headline(server).split(separator: "\"", omittingEmptySubsequences: false)
        let text = (namesServers ? "\(server.name): " : "") + quote + headline.joined(separator: "\\\"")
        let marks = quote + ServerText.reason(for: server) + Self.omitted(change) + by
        let used = start.reduce(0) { $0 + $1.count + 2 }
        if let width, width <= used { return cut(start.joined(separator: "  "), to: width) }
        return ([style.faint(time)] + span + [style.level(word, of: server)]).map { $0 + "  " }.joined()
            + cut(text, marks, to: width.map { max(0, $0 - used) })
    }

    /// `selected db`, `added db`, `statusd started` and so on.
    private static func event(_ change: Change) -> String {
        switch change.kind {
        case .started, .stopped: return "statusd \(change.kind.rawValue)"
        case .silenced:
            guard let server = change.server else { return "silenced" }
            return "silenced \(server.name)" + (server.message.map { " \($0)" } ?? "")
        case .unsilenced: return "no longer silenced \(change.server?.name.rawValue ?? "")"
        case .selected, .added, .removed, .changed:
            guard let server = change.server else { return "no server selected" }
            let failure = change.kind == .added && server.phase == .failed
            return "\(change.kind.rawValue) \(server.name)" + (failure ? ": failed \(ServerText.headline(server))" : "")
        }
    }

    private static func omitted(_ change: Change) -> String {
        guard change.omitted > 0 else { return "" }
        return " (\(change.omitted) earlier change\(change.omitted == 1 ? "" : "s") left out)"
    }

    /// How long the state lasted, or with `+`, how long it has lasted so far.
    private static func span(of change: Change, now: Timestamp) -> String {
        if let lasted = change.lasted { return span(lasted) }
        return span(Int(now.milliseconds - change.at.milliseconds)) + "+"
    }

    /// A short span: `250ms`, `3min 20s`, `2h 5min`, `4d`; zero if it is negative, because the clock was set back.
    static func span(_ milliseconds: Int) -> String {
        if milliseconds <= 0 { return "0s" }
        if milliseconds < 1000 { return TimeSpan.text(.milliseconds(milliseconds)) }
        return TimeSpan.text(.seconds(milliseconds / 1000))
    }

    /// The text and what follows it, the text cut first.
    private func cut(_ text: String, _ marks: String, to room: Int?) -> String {
        guard let room, (text + marks).displayWidth > room else { return text + marks }
        let left = room - marks.displayWidth
        return left >= Self.shortestText ? cut(text, to: left) + marks : cut(text + marks, to: room)
    }

    private func cut(_ line: String, to room: Int?) -> String {
        room.map { line.cut(to: $0, ellipsis: style.ellipsis) } ?? line
    }
}
