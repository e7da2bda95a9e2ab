// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1
import StatusModel

/// The files of the page, which are a part of the program.
struct PageFiles {
    private struct File: Sendable {
        let type: String
        let body: ByteBuffer
        let tag: String

        init(_ type: String, _ bytes: [UInt8]) {
            (self.type, body) = (type, ByteBuffer(bytes: bytes))
            // FNV-1a
            let hash = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            tag = "\"\(String(hash, radix: 16))\""
        }
    }

    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

    private static let index = File("text/html; charset=utf-8", PackageResources.index_html)
    private static let others = [
        "page.css": File("text/css; charset=utf-8", PackageResources.page_css),
        "page.js": File("text/javascript; charset=utf-8", PackageResources.page_js),
        "icon-ok.svg": File("image/svg+xml", PackageResources.icon_ok_svg),
        "icon-warning.svg": File("image/svg+xml", PackageResources.icon_warning_svg),
        "icon-critical.svg": File("image/svg+xml", PackageResources.icon_critical_svg),
        "icon-unknown.svg": File("image/svg+xml", PackageResources.icon_unknown_svg),
        "icon-none.svg": File("image/svg+xml", PackageResources.icon_none_svg),
        "icon-refresh.svg": File("image/svg+xml", PackageResources.icon_refresh_svg),
    ]

    /// The page itself for `/` and for each name of a server, and its other files.
    func response(to path: [String], _ request: HTTPRequestHead) -> Response {
        guard path.count < 2, let file = path.first.map({ Self.others[$0] ?? page(of: $0) }) ?? Self.index else {
            return .text(.notFound, "there is nothing at this address")
        }
        let known = request.headers[canonicalForm: "if-none-match"]
        let isKnown = known.contains { $0 == "*" || $0 == file.tag || $0.dropFirst(2) == file.tag }
        var response = Response(isKnown ? .notModified : .ok, file.type, file.body)
        response.fields = [
            ("ETag", file.tag), ("Cache-Control", "no-cache"), ("Content-Security-Policy", Self.policy),
        ]
        return response
    }

    private func page(of name: String) -> File? { ServerName(name) == nil ? nil : Self.index }
}
#endif
