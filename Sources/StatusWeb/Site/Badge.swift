// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1
import StatusModel

/// A picture of a server's level: a shape, a word and a colour.
struct Badge {
    private let name: String
    private let word: String
    private let colour: String
    private let shape: String

    init(_ name: ServerName, _ state: ServerState?, isLive: Bool) {
        self.name = name.rawValue
        let level = state?.countedLevel
        word =
            if !isLive { "not known now" } else if let state {
                state.phase == .failed ? "failed" : state.isStale ? "stale" : level?.rawValue ?? "no status"
            } else { "no such server" }
        (colour, shape) =
            switch level {
            case .ok: ("#1a7374", "✓")
            case .warning: ("#8a5200", "▲")
            case .critical: ("#b8122a", "■")
            case .unknown: ("#6a41c4", "◆")
            case nil: ("#525b69", "○")
            }
    }

    var response: Response {
        // The width of a letter is about 7 pixels; textLength makes it so.
        let (left, right) = (name.count * 7 + 12, (word.count + 2) * 7 + 12)
        let svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(left + right)" height="20" role="img" \
            aria-label="\(name): \(word)"><title>\(name): \(word)</title>\
            <path fill="#3b424c" d="M3 0h\(left - 3)v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z"/>\
            <path fill="\(colour)" d="M\(left) 0h\(right - 3)a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H\(left)z"/>\
            <g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">\
            <text x="6" y="14" textLength="\(left - 12)">\(name)</text>\
            <text x="\(left + 6)" y="14" textLength="\(right - 12)">\(shape) \(word)</text></g></svg>

            """
        var response = Response(.ok, "image/svg+xml", ByteBuffer(string: svg))
        // Pages of other sites show it.
        response.fields = [("Cache-Control", "no-cache"), ("Cross-Origin-Resource-Policy", "cross-origin")]
        return response
    }
}
#endif
