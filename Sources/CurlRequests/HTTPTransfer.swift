// SPDX-License-Identifier: Apache-2.0

import CCurl
import EventLoopIO
import Glibc
import SourceKinds
import StatusWorkers

/// One request on its way: how libcurl is to make it, and what comes in for it.
final class HTTPTransfer {
    let request: HTTPRequest
    let handle: CurlHandle
    /// Why the last socket could not be opened, which libcurl does not keep; 0 where it could.
    private(set) var socketError: Int32 = 0
    /// To where sockets were to be opened.
    private(set) var addresses: [InternetAddress] = []
    /// Why there was none for one of them, if descriptors or memory had run out.
    private(set) var socketShortage: Int32?
    private var body: [UInt8] = []
    private var isBodyCut = false
    private var headerBytes = 0
    /// Whether the answer has a transfer coding that nobody asked for.
    private(set) var hasCoding = false
    /// Whether the header that came last has its end.
    private var isHeaderComplete = false
    /// Whether the answer's header, its trailer included, is larger than it may be.
    var isHeaderTooLarge: Bool { headerBytes > Self.headerLimit }

    /// How many bytes of the body are kept; once there are more the connection is closed.
    private static let bodyLimit = 1 << 20
    /// The largest header, in bytes, of all answers of a transfer and of trailers; libcurl itself has a limit only for those before a body.
    private static let headerLimit = 512 * 1024

    /// A transfer for a request.
    ///
    /// - Parameter authoritiesLifetime: how many seconds old the authorities may be that libcurl has read; 0: it must read them.
    init(_ request: HTTPRequest, authoritiesLifetime: Int, _ curl: CurlLibrary) throws(HTTPFailure) {
        self.request = request
        handle = try CurlHandle(curl)
        setConnection()
        setTrust(authoritiesLifetime)
        setRequest()
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot make the request", isLocal: true) }
    }

    /// A transfer that does nothing but look at the certificates of the host that a failed one had reached.
    ///
    /// Nothing is verified; in turn nothing is sent, not even the request's line.
    init(inspecting failed: HTTPTransfer, timeout: Duration) throws(HTTPFailure) {
        request = HTTPRequest(HTTPSettings(url: failed.lastURL), timeout: timeout)
        handle = try CurlHandle(failed.handle.curl)
        setConnection()
        handle.set(CURLOPT_SSL_VERIFYPEER, 0)
        handle.set(CURLOPT_SSL_VERIFYHOST, 0)
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        handle.set(CURLOPT_CERTINFO, 1)
        // The very machine that was reached: the name may stand for several.
        let address = failed.handle.string(CURLINFO_PRIMARY_IP)
        if !address.isEmpty {
            handle.set(CURLOPT_CONNECT_TO, [address.contains(":") ? "::[\(address)]:" : "::\(address):"])
        }
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot read the certificate") }
    }

    // MARK: Going out

    /// A connection of its own, without a trace of those before: what an earlier check has learned would hide what this one is for.
    private func setConnection() {
        handle.setCallbacks(for: self)
        handle.set(CURLOPT_URL, request.url)
        handle.set(CURLOPT_NOSIGNAL, 1)
        // Else a resolver that hangs holds up everything when its transfer ends.
        handle.set(CURLOPT_QUICK_EXIT, 1)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // What was to be kept from others' eyes is not sent in the open because the server says so.
        handle.set(CURLOPT_REDIR_PROTOCOLS_STR, request.isSecure ? "https" : "http,https")
        handle.set(CURLOPT_PROXY, "")
        // libcurl 7.88 reads HTTP/2 for as long as there is something to read, without a look at its time limit.
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        limitKeyExchange()
        // 0 would be no limit at all.
        handle.set(CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout / .milliseconds(1))))
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_FORBID_REUSE, 1)
        handle.set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // A server that resumes a session does not show its certificate, which may have expired since.
        handle.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    }

    /// The server chooses the group of a key exchange by Diffie and Hellman: one of 10,000 bits takes a second.
    private func limitKeyExchange() {
        guard handle.curl.usesOpenSSL else { return }
        handle.set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!kDHE")
        handle.set(CURLOPT_SSL_EC_CURVES, "X25519:P-256:P-384:P-521")
    }

    private func setTrust(_ authoritiesLifetime: Int) {
        handle.set(CURLOPT_SSL_VERIFYPEER, 1)
        handle.set(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = request.certificateAuthority { handle.set(CURLOPT_CAINFO, file) }
        // Beside a file that the request names, the system's directory would still count; beside the system's file it holds the
        // same, but keeps libcurl from reading that only once for many transfers.
        if request.certificateAuthority != nil || handle.curl.authoritiesFile != nil {
            handle.set(CURLOPT_CAPATH, nil as String?)
        }
        handle.setWherePossible(CURLOPT_CA_CACHE_TIMEOUT, authoritiesLifetime)
    }

    private func setRequest() {
        handle.set(CURLOPT_USERAGENT, request.userAgent)
        switch request.method {
        case "GET": handle.set(CURLOPT_HTTPGET, 1)
        case "HEAD": handle.set(CURLOPT_NOBODY, 1)
        default: handle.set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        // A field without a value is one that libcurl leaves out, unless it is written in libcurl's own way.
        handle.set(CURLOPT_HTTPHEADER, request.headers.map { $0.hasSuffix(": ") ? $0.dropLast(2) + ";" : $0 })
        handle.set(CURLOPT_FOLLOWLOCATION, request.redirects > 0 ? 1 : 0)
        handle.set(CURLOPT_MAXREDIRS, max(0, request.redirects))
    }

    /// Takes down to where a socket was to be opened, and why it could not be, if that is not 0.
    func noteSocket(to address: InternetAddress, error: Int32) {
        addresses.append(address)
        socketError = error
        if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(error) { socketShortage = error }
    }

    // MARK: Coming in

    /// Takes bytes of the body; returns how many, and fewer than there are where the limit is passed, which ends the transfer.
    func receive(_ chunk: UnsafeRawBufferPointer) -> Int {
        let room = Self.bodyLimit - body.count
        body += chunk.prefix(room)
        isBodyCut = chunk.count > room
        return isBodyCut ? 0 : chunk.count
    }

    /// Takes a line of the header; returns its length, or less if it is not to be taken, which ends the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        headerBytes += line.count
        // An answer may follow others, which are informational. Behind a body there are fields only.
        if body.isEmpty, Self.text(line.prefix(5)) == "http/" { isHeaderComplete = false }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isHeaderComplete = true }
        if Self.isCoding(line) { hasCoding = true }
        return isHeaderTooLarge || hasCoding ? 0 : line.count
    }

    /// Whether a line of the header says that the body is compressed for its way, which nobody asked for: libcurl decodes that, and a few bytes may
    /// stand for any number of them.
    private static func isCoding(_ line: UnsafeRawBufferPointer) -> Bool {
        let name = "transfer-encoding"
        guard text(line.prefix(name.utf8.count)) == name else { return false }
        let rest = line.dropFirst(name.utf8.count).filter { !" \t\r\n".utf8.contains($0) }
        return rest.first == UInt8(ascii: ":")
            && text(rest.prefix(64)) != ":chunked"
    }

    /// Bytes of a header, in which capitals mean nothing.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }

    /// What became of the request, where it was not the certificate that ended the transfer.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        guard code == CURLE_OK || code == CURLE_WRITE_ERROR && isBodyCut else {
            if let shortage = shortage(code) { return HTTPFailure(reason: shortage, isLocal: true).outcome }
            return HTTPFailure(reason: reason(code), isLocal: code == CURLE_SSL_CACERT_BADFILE).outcome
        }
        // To libcurl, a connection that is closed there ends a header as well as an empty line.
        guard isHeaderComplete else { return HTTPFailure(reason: Self.closedWithin).outcome }
        let statusCode = handle.number(CURLINFO_RESPONSE_CODE)
        guard request.statusCodes.contains(where: { $0.contains(statusCode) }) else {
            return .unexpected(reason: "expected \(expectedCodes), got \(statusCode)")
        }
        if let text = request.contains, !Self.contains(body, text) {
            let place = isBodyCut ? "the first \(Self.bodyLimit / 1024) KiB of the response" : "the response"
            return .unexpected(reason: "expected “\(text)”, not found in \(place)")
        }
        return .expected(statusCode: statusCode, duration: handle.duration)
    }

    /// Whether a text is somewhere in the bytes; takes time in proportion to their number, whatever they are (memmem(3)).
    static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let part = Array(text.utf8)
        return memmem(bytes, bytes.count, part, part.count) != nil
    }

    private var expectedCodes: String {
        request.statusCodes.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }

    /// The address that was asked last, after redirections.
    var lastURL: String {
        let url = handle.string(CURLINFO_EFFECTIVE_URL)
        return url.isEmpty ? request.url : url
    }

    /// The host of that address.
    var lastHost: String { handle.curl.part(CURLUPART_HOST, of: lastURL) ?? lastURL }
}
