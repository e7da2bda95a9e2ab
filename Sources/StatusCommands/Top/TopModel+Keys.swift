// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

// What keys and the mouse do.
extension TopModel {
    /// Does what a key asks for, as far as it concerns only the screen; returns the rest.
    mutating func press(_ key: Key) -> Action? {
        (message, command) = (nil, nil)
        switch key {
        case .control("c"): return .quit
        case .control("z"): return .suspend
        case .control("l"): return .redraw
        default: break
        }
        if isTyping { return type(key) }
        if showsNextCommand { return showCommand(key) }
        switch page {
        case .help:
            page = .list
            return key == .character("q") ? .quit : nil
        case .details: return pressInDetails(key)
        case .list: return pressInList(key)
        }
    }

    private mutating func type(_ key: Key) -> Action? {
        switch key {
        case .character(let character): filter.append(character)
        case .backspace:
            if filter.isEmpty { isTyping = false } else { filter.removeLast() }
        case .control("u"): filter = ""
        case .enter: isTyping = false
        case .escape: (filter, isTyping) = ("", false)
        case .up, .down, .pageUp, .pageDown:
            isTyping = false
            return pressInList(key)
        default: return nil
        }
        place()
        return nil
    }

    private mutating func pressInList(_ key: Key) -> Action? {
        switch key {
        case .up: step(by: -1)
        case .down: step(by: 1)
        case .wheelUp: step(by: -3)
        case .wheelDown: step(by: 3)
        case .pageUp: step(by: -visibleRows)
        case .pageDown: step(by: visibleRows)
        case .home, .character("g"): step(by: -shown.count)
        case .end, .character("G"): step(by: shown.count)
        case .click(let row, let column): if column < columns.list { click(row) }
        case .enter, .right, .character("l"): showDetails()
        case .escape:
            filter = ""
            place()
        case .character("/"): isTyping = true
        case .character("o"): changeOrder()
        case .character(" "): fold()
        default: return common(key)
        }
        return nil
    }

    /// Sorts by the next order, from the top.
    private mutating func changeOrder() {
        let orders = Order.allCases
        order = orders[((orders.firstIndex(of: order) ?? 0) + 1) % orders.count]
        staysFirst = true
        place()
    }

    /// Hides the members of the current group, or of the group of the current member, or shows them again.
    private mutating func fold() {
        guard let current else { return }
        guard let group = list.fold(current) else { return message = "not in a group" }
        staysFirst = false
        move(to: group)
        place()
    }

    /// Shows the details of one server, whatever is first meanwhile.
    private mutating func showDetails() {
        guard current != nil else { return }
        page = .details
        staysFirst = false
    }

    private mutating func pressInDetails(_ key: Key) -> Action? {
        switch key {
        case .enter, .left, .escape, .backspace, .character("h"): page = .list
        case .up, .wheelUp: detailsOffset = max(0, detailsOffset - 1)
        case .down, .wheelDown: detailsOffset += 1
        case .pageUp: detailsOffset = max(0, detailsOffset - visibleRows)
        case .pageDown, .character(" "): detailsOffset += visibleRows
        case .home, .character("g"): detailsOffset = 0
        default: return common(key)
        }
        return nil
    }

    /// Keys that mean the same on both pages.
    private mutating func common(_ key: Key) -> Action? {
        switch key {
        case .character("q"): return .quit
        case .character("?"): page = .help
        case .character("!"): showsNextCommand = current != nil
        case .character("j"): return current.map { .journal($0) }
        case .character("r"), .character("*"), .character("s"): return request(key)
        case .character("n"): stepToProblem(by: 1)
        case .character("N"): stepToProblem(by: -1)
        default: break
        }
        return nil
    }

    /// What a key asks the daemon to do with the current server.
    private func request(_ key: Key) -> Action? {
        switch key {
        case .character("r"): current.map { .refresh($0) }
        case .character("*"): current.map { .select($0) }
        case .character("s"): current.flatMap { id in state(of: id).map { .silence(id, $0.silence == nil) } }
        default: nil
        }
    }

    /// Shows the command for what a key does; only such a key and Esc end this, so that nothing is run by mistake.
    private mutating func showCommand(_ key: Key) -> Action? {
        command = request(key)?.command.map { RemoteHost.line(["statusctl"] + (currentHost?.options ?? []) + $0) }
        showsNextCommand = command == nil && key != .escape && current != nil
        return nil
    }

    /// Keeps the offset of the details within what there is to show.
    mutating func limitDetails(to last: Int) { detailsOffset = min(detailsOffset, max(0, last)) }

    private mutating func step(by count: Int) {
        guard !shown.isEmpty else { return }
        staysFirst = false
        let index = shown.firstIndex { $0.id == current } ?? 0
        move(to: shown[min(max(0, index + count), shown.count - 1)].id)
        place()
    }

    /// Moves the bar down, or up, to the next server that is not ok; after the last one, to the first.
    private mutating func stepToProblem(by direction: Int) {
        let count = shown.count
        func position(_ steps: Int) -> Int { (index + direction * (steps + 1) + count) % count }
        let steps = (0..<count).first { shown[position($0)].worstSeverity > Level.ok.severity }
        guard let steps else { return message = "no problems" }
        staysFirst = false
        move(to: shown[position(steps)].id)
        place()
    }

    /// A click moves the bar, and on the bar shows the details.
    private mutating func click(_ row: Int) {
        let index = offset + row - TopView.firstRow
        guard row >= TopView.firstRow, row < TopView.firstRow + visibleRows, shown.indices.contains(index) else {
            return
        }
        if shown[index].id == current { showDetails() }
        staysFirst = false
        move(to: shown[index].id)
        place()
    }
}

extension TopModel.Action {
    /// The words of the command of statusctl that does the same; nil if there is none.
    fileprivate var command: [String]? {
        switch self {
        case .select(let server): ["select", server.name.rawValue]
        case .silence(let server, true): ["silence", server.name.rawValue, "--for", "1h"]
        case .silence(let server, false): ["unsilence", server.name.rawValue]
        case .refresh(let server): ["refresh", server.name.rawValue]
        case .quit, .suspend, .redraw, .journal: nil
        }
    }
}
