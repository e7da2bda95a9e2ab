// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

// The first line, and the last ones.
extension TopView {
    func title(_ model: TopModel) -> String {
        let total = "\(model.count) \(model.count == 1 ? "server" : "servers")"
        let counts = [Level.critical, .unknown, .warning].compactMap { level in
            let count = model.list.count(of: level)
            return count > 0 ? style.level("\(count) \(level.rawValue)", level) : nil
        }
        let place = place.cut(to: max(16, size.width / 3), ellipsis: style.ellipsis)
        if let absence = model.absence {
            let last = CellText.plain(([total] + counts).joined(separator: ", "))
            let since = model.hosts[0].awaySince.map { ", since \(TimeText.short($0, now: now))" } ?? ""
            let known = model.count == 0 ? "" : " (last: \(last))"
            return style.level(cut("\(place)  \(absence)\(known)\(since)"), .critical)
        }
        // What is most important stays the longest.
        let name = style.strong(place)
        let problems = counts + absences(model)
        let variants = [
            [name, total] + problems + [model.order.rawValue], [name, total] + problems, [total] + problems, problems,
        ]
        let lines = variants.filter { !$0.isEmpty }.map { $0.joined(separator: "  ") }
        guard let line = lines.first(where: { CellText.plain($0).displayWidth <= size.width }) else {
            return cut(CellText.plain(lines.last ?? ""))
        }
        let time = TimeText.full(now)
        let gap = size.width - CellText.plain(line).displayWidth - time.count
        return gap < 2 ? line : line + String(repeating: " ", count: gap) + style.faint(time)
    }

    /// Which of several hosts are away.
    private func absences(_ model: TopModel) -> [String] {
        guard model.hasSeveralHosts else { return [] }
        return model.hosts.compactMap { host in
            host.absenceText(now: now).map { style.level("\(host.name) \($0)", .critical) }
        }
    }

    func lastLines(_ model: TopModel) -> [String] {
        // It is copied, so it is not cut.
        if let command = model.command { return command.wrapped(to: size.width).map { style.strong($0) } }
        if !model.isTyping, let message = model.message {
            let (all, room) = (message.wrapped(to: size.width), max(1, size.height / 3))
            var lines = Array(all.prefix(room))
            if all.count > room {
                lines[room - 1] = cut(lines[room - 1] + " " + all[room])
            }
            return lines.map { style.level($0, .warning) }
        }
        return [lastLine(model)]
    }

    private func lastLine(_ model: TopModel) -> String {
        let position = position(model)
        let room = size.width - position.count
        if model.isTyping {
            return "/\(model.filter)\(isUTF8 ? "▏" : "_")".fitted(to: room, ellipsis: style.ellipsis) + position
        }
        // Only whole hints; ? shows the others.
        var line = ""
        for hint in hints(model) {
            let longer = line.isEmpty ? hint : "\(line)  \(hint)"
            guard longer.displayWidth <= room else { break }
            line = longer
        }
        return style.faint(position.isEmpty ? line : line.fitted(to: room)) + position
    }

    /// Which servers of the list are on the screen, unless all are: `1–12 of 19`.
    private func position(_ model: TopModel) -> String {
        let count = model.visible.count
        guard model.page == .list, count > 0, count < model.count else { return "" }
        let first = count == 1 ? "" : "\(model.offset + 1)\(isUTF8 ? "–" : "-")"
        let position = "  \(first)\(model.offset + count) of \(model.shown.count)"
        return position.count > size.width / 2 ? "" : position
    }

    private func hints(_ model: TopModel) -> [String] {
        if model.showsNextCommand { return ["Esc back", "show the command for:  * select  r refresh  s silence"] }
        let filter = model.filter.isEmpty ? [] : ["/\(model.filter)", "Esc clears"]
        let actions = ["* select", "r refresh", "s silence", "j journal"]
        return switch model.page {
        case .list: ["? help", "q quit"] + filter + ["Enter details"] + actions + ["/ filter", "o order", "n problem"]
        case .details: ["? help", "q quit", "Esc back", "n problem"] + actions
        case .help: ["any key goes back", "q quit"]
        }
    }

    private func cut(_ line: String) -> String { cut(line, to: size.width) }

    func cut(_ line: String, to width: Int) -> String { line.cut(to: width, ellipsis: style.ellipsis) }
}
