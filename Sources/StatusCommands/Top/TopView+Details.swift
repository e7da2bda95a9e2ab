// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

// The details of the current server, as a page of their own, or beside the list.
extension TopView {
    /// The page, from the line to which the user has scrolled.
    func detailsPage(_ model: inout TopModel) -> [String] {
        let lines = details(model, size.width)
        model.limitDetails(to: lines.count - bodyHeight(model))
        return Array(lines.dropFirst(model.detailsOffset))
    }

    /// The details in lines of at most this width.
    func details(_ model: TopModel, _ width: Int) -> [String] {
        guard var server = model.currentServer else {
            return model.current == nil ? [] : [style.faint("the server was removed")]
        }
        server.check = model.check
        let host = model.hasSeveralHosts ? model.currentHost.map { $0.name } : nil
        let hostLine = host.map { ["  Host:".fitted(to: ServerText.labelWidth) + $0] } ?? []
        let refreshing = server.isRefreshing ? [style.faint("\(indicator) refreshing")] : []
        let bars = ValueBars(style: style, isUTF8: isUTF8, width: max(20, width - ServerText.labelWidth))
        // The newest change comes first, because it is the most interesting.
        return ServerText.details(server, bars: bars, style: style, width: width, now: known(model)) + hostLine
            + refreshing
            + ["", rule("history, the newest first", width)] + lines(of: model.changes.reversed(), model, width)
    }

    func lines(of changes: some Sequence<Change>, _ model: TopModel, _ width: Int) -> [String] {
        let text = ChangeText(style: style, width: width, namesServers: false)
        return changes.map { text.line($0, user: $0.user.map(users), now: known(model)) }
    }

    func rule(_ text: String, _ width: Int) -> String {
        let dash = isUTF8 ? "─" : "-"
        let start = cut("\(dash)\(dash) \(text) ", to: width)
        return style.faint(start + String(repeating: dash, count: max(0, width - start.displayWidth)))
    }
}
