// SPDX-License-Identifier: Apache-2.0

import CCurl
import EventLoopIO
import Glibc
import SourceKinds
import StatusWorkers

/// One request: its options for libcurl, and what has been received.
final class HTTPTransfer {
    let request: HTTPRequest
    let handle: CurlHandle
    /// The error of the last socket, which libcurl does not keep; 0 if there was none.
    private(set) var socketError: Int32 = 0
    /// The addresses for which sockets were requested.
    private(set) var addresses: [InternetAddress] = []
    /// The error for one of them, if descriptors or memory had run out.
    private(set) var socketShortage: Int32?
    private var body: [UInt8] = []
    private var isBodyCut = false
    private var headerBytes = 0
    /// Whether the response has a transfer encoding that was not requested.
    private(set) var hasCoding = false
    /// Whether the last header is complete.
    private var isHeaderComplete = false
    /// The number of redirects that were followed before the last response began; nil if none has begun.
    private var redirectsBefore: Int?
    /// Whether the response has begun, and not only one that redirected to it.
    var hasBegun: Bool { redirectsBefore == handle.number(CURLINFO_REDIRECT_COUNT) }
    /// Whether the header, including the trailer, is too large.
    var isHeaderTooLarge: Bool { headerBytes > Self.headerLimit }

    /// The number of bytes of the body to keep; the connection is closed if there are more.
    private static let bodyLimit = 1 << 20
    /// The maximum size in bytes of all headers and trailers of a transfer; libcurl itself limits only headers before a
    /// body.
    private static let headerLimit = 512 * 1024

    /// Creates a transfer for a request.
    ///
    /// - Parameter authoritiesLifetime: how many seconds libcurl may reuse the authorities that it has read; with 0 it
    ///   must read them.
    init(_ request: HTTPRequest, authoritiesLifetime: Int, _ curl: CurlLibrary) throws(HTTPFailure) {
        self.request = request
        handle = try CurlHandle(curl)
        setConnection()
        setTrust(authoritiesLifetime)
        setRequest()
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot make the request", isLocal: true) }
    }

    /// Creates a transfer that only reads the certificates of the host that a failed one had reached.
    ///
    /// It verifies nothing and sends no request.
    init(inspecting failed: HTTPTransfer, timeout: Duration) throws(HTTPFailure) {
        request = HTTPRequest(HTTPSettings(url: failed.lastURL), timeout: timeout)
        handle = try CurlHandle(failed.handle.curl)
        setConnection()
        handle.set(CURLOPT_SSL_VERIFYPEER, 0)
        handle.set(CURLOPT_SSL_VERIFYHOST, 0)
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        handle.set(CURLOPT_CERTINFO, 1)
        // Use the same machine: the name may have several addresses.
        let address = failed.handle.string(CURLINFO_PRIMARY_IP)
        if !address.isEmpty {
            handle.set(CURLOPT_CONNECT_TO, [address.contains(":") ? "::[\(address)]:" : "::\(address):"])
        }
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot read the certificate") }
    }

    // MARK: Going out

    /// Sets options for a new connection that reuses nothing: what an earlier check has learned would hide what this
    /// one is for.
    private func setConnection() {
        handle.setCallbacks(for: self)
        handle.set(CURLOPT_URL, request.url)
        handle.set(CURLOPT_NOSIGNAL, 1)
        // Otherwise a resolver that hangs delays the end of the transfer.
        handle.set(CURLOPT_QUICK_EXIT, 1)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // A redirect must not cause a request to be sent unencrypted.
        handle.set(CURLOPT_REDIR_PROTOCOLS_STR, request.isSecure ? "https" : "http,https")
        handle.set(CURLOPT_PROXY, "")
        // libcurl 7.88 reads HTTP/2 without checking its timeout.
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        limitKeyExchange()
        // 0 would mean no limit.
        handle.set(CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout / .milliseconds(1))))
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_FORBID_REUSE, 1)
        handle.set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // A server that resumes a session does not show its certificate, which may have expired meanwhile.
        handle.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    }

    /// In a Diffie-Hellman key exchange, the server chooses the group: one of 10,000 bits takes a second.
    private func limitKeyExchange() {
        guard handle.curl.usesOpenSSL else { return }
        handle.set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!kDHE")
        handle.set(CURLOPT_SSL_EC_CURVES, "X25519:P-256:P-384:P-521")
    }

    private func setTrust(_ authoritiesLifetime: Int) {
        handle.set(CURLOPT_SSL_VERIFYPEER, 1)
        handle.set(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = request.certificateAuthority { handle.set(CURLOPT_CAINFO, file) }
        // With a file that the request names, the system's directory would still count. With the system's file, it
        // contains the same, but libcurl could not keep that for several transfers.
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
        // libcurl omits a field without a value, unless it ends in a semicolon.
        handle.set(CURLOPT_HTTPHEADER, request.headers.map { $0.hasSuffix(": ") ? $0.dropLast(2) + ";" : $0 })
        handle.set(CURLOPT_FOLLOWLOCATION, request.redirects > 0 ? 1 : 0)
        handle.set(CURLOPT_MAXREDIRS, max(0, request.redirects))
    }

    /// Notes the address of a requested socket, and its error, if it is not 0.
    func noteSocket(to address: InternetAddress, error: Int32) {
        addresses.append(address)
        socketError = error
        if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(error) { socketShortage = error }
    }

    // MARK: Coming in

    /// Takes bytes of the body; returns fewer than there are if the limit is exceeded, which ends the transfer.
    func receive(_ chunk: UnsafeRawBufferPointer) -> Int {
        let room = Self.bodyLimit - body.count
        body += chunk.prefix(room)
        isBodyCut = chunk.count > room
        return isBodyCut ? 0 : chunk.count
    }

    /// Takes a line of the header; returns less than its length to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        headerBytes += line.count
        // Informational responses may precede a response. After a body, there are only fields.
        if body.isEmpty, Self.text(line.prefix(5)) == "http/" {
            isHeaderComplete = false
            redirectsBefore = handle.number(CURLINFO_REDIRECT_COUNT)
        }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isHeaderComplete = true }
        if Self.isCoding(line) { hasCoding = true }
        return isHeaderTooLarge || hasCoding ? 0 : line.count
    }

    /// Whether a line of the header announces an encoding that was not requested: libcurl would decode it, and a few
    /// bytes may stand for any number.
    private static func isCoding(_ line: UnsafeRawBufferPointer) -> Bool {
        let name = "transfer-encoding"
        guard text(line.prefix(name.utf8.count)) == name else { return false }
        let rest = line.dropFirst(name.utf8.count).filter { !" \t\r\n".utf8.contains($0) }
        return rest.first == UInt8(ascii: ":")
            && text(rest.prefix(64)) != ":chunked"
    }

    /// Text of a header, in lower case.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }

    /// The outcome, unless the certificate ended the transfer.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        guard code == CURLE_OK || code == CURLE_WRITE_ERROR && isBodyCut else {
            if let shortage = shortage(code) { return HTTPFailure(reason: shortage, isLocal: true).outcome }
            return HTTPFailure(reason: reason(code), isLocal: code == CURLE_SSL_CACERT_BADFILE).outcome
        }
        // For libcurl, a closed connection ends a header like an empty line.
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

    /// Whether the bytes contain a text; the time is proportional to their number (memmem(3)).
    static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let part = Array(text.utf8)
        return memmem(bytes, bytes.count, part, part.count) != nil
    }

    private var expectedCodes: String {
        request.statusCodes.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }

    /// The last URL, after redirects.
    var lastURL: String {
        let url = handle.string(CURLINFO_EFFECTIVE_URL)
        return url.isEmpty ? request.url : url
    }

    /// The host of the last URL.
    var lastHost: String { handle.curl.part(CURLUPART_HOST, of: lastURL) ?? lastURL }
}
