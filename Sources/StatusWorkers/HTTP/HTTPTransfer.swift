// SPDX-License-Identifier: Apache-2.0

import CCurl
import EventLoopIO
import Glibc
import SourceKinds
import StatusSupport

/// One request: its options for libcurl and the received response.
final class HTTPTransfer {
    let request: HTTPRequest
    let handle: CurlHandle
    let began = SuspendingClock.now
    /// How much of the timeout is left.
    var timeLeft: Duration { request.timeout - (.now - began) }
    /// The attempts to connect to the last host that was looked up; nil if there is none.
    private(set) var attempts: ConnectionAttempts?
    /// The outcome that the rest of the response cannot change, if any.
    var verdict: (outcome: HTTPOutcome, time: SuspendingClock.Instant)?
    private(set) var body: [UInt8] = []
    /// How many bytes of the body have been searched.
    var searched = 0
    private(set) var isBodyCut = false
    private var headerBytes = 0
    private(set) var isHeaderComplete = false
    /// The number of redirects before the last response began; nil if no response has begun.
    private var redirectsBefore: Int?
    /// Whether the final response has begun, and not only a redirect to it.
    var hasBegun: Bool { redirectsBefore == handle.number(CURLINFO_REDIRECT_COUNT) }
    /// Whether the last host has been looked up.
    var isFound: Bool { attempts?.redirects == handle.number(CURLINFO_REDIRECT_COUNT) }
    var isHeaderTooLarge: Bool { headerBytes > Self.headerLimit }

    /// The maximum length of a body in bytes; the connection is closed after that.
    static let bodyLimit = 1 << 20
    /// The maximum size in bytes of all headers and trailers of a transfer.
    ///
    /// libcurl itself limits only headers before a body.
    private static let headerLimit = 512 * 1024

    /// Creates a transfer for a request.
    ///
    /// - Parameter authoritiesLifetime: how many seconds libcurl may reuse the authorities that it has read; 0 makes it
    ///   read them.
    init(_ request: HTTPRequest, authoritiesLifetime: Int, _ curl: CurlLibrary) throws(HTTPFailure) {
        self.request = request
        handle = try CurlHandle(curl)
        setConnection()
        setTrust(authoritiesLifetime)
        setRequest()
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot make the request", isLocal: true) }
    }

    /// Creates a transfer that only reads the certificates of the host that a failed transfer had reached.
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
        // The name may have several addresses; use the same one.
        let address = failed.handle.string(CURLINFO_PRIMARY_IP)
        if !address.isEmpty {
            handle.set(CURLOPT_CONNECT_TO, [address.contains(":") ? "::[\(address)]:" : "::\(address):"])
        }
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot read the certificate") }
    }

    // MARK: Sending

    /// Sets the options of a new connection that reuses nothing from earlier checks, which could hide a problem.
    private func setConnection() {
        handle.setCallbacks(for: self)
        handle.set(CURLOPT_URL, request.url)
        handle.set(CURLOPT_NOSIGNAL, 1)
        // Otherwise a hanging resolver delays the end of the transfer.
        handle.set(CURLOPT_QUICK_EXIT, 1)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // A redirect must not cause an unencrypted request.
        handle.set(CURLOPT_REDIR_PROTOCOLS_STR, request.isSecure ? "https" : "http,https")
        handle.set(CURLOPT_PROXY, "")
        // libcurl 7.88 reads HTTP/2 without checking its timeout.
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        // In a finite-field Diffie-Hellman exchange, the server chooses the group; one of 10,000 bits takes a second.
        handle.set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!kDHE")
        handle.set(CURLOPT_SSL_EC_CURVES, "X25519:P-256:P-384:P-521")
        // 0 means no limit.
        handle.set(CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout / .milliseconds(1))))
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_FORBID_REUSE, 1)
        handle.set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // In a resumed session, the server does not send its certificate, which may have expired.
        handle.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    }

    private func setTrust(_ authoritiesLifetime: Int) {
        handle.set(CURLOPT_SSL_VERIFYPEER, 1)
        handle.set(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = request.certificateAuthority { handle.set(CURLOPT_CAINFO, file) }
        // Otherwise libcurl also uses the system's directory. That would weaken the request's own file. It adds nothing
        // to the system's file, but would prevent libcurl from keeping the authorities.
        if request.certificateAuthority != nil || handle.curl.authoritiesFile != nil {
            handle.set(CURLOPT_CAPATH, nil as String?)
        }
        handle.set(CURLOPT_CA_CACHE_TIMEOUT, authoritiesLifetime)
    }

    private func setRequest() {
        handle.set(CURLOPT_USERAGENT, request.userAgent)
        setMethod()
        var headers = request.headers
        // libcurl would add the type of a form; a later line still sets another type.
        if Self.methodsWithBody.contains(request.method) { headers.insert("Content-Type:", at: 0) }
        // libcurl sends a field without a value only if it ends in a semicolon.
        handle.set(CURLOPT_HTTPHEADER, headers.map { $0.hasSuffix(": ") ? $0.dropLast(2) + ";" : $0 })
        // All encodings that libcurl knows; the request names those that are configured.
        if request.settings.sends("Accept-Encoding") { handle.set(CURLOPT_ACCEPT_ENCODING, "") }
        // Keeps the cookies of this transfer. libcurl would send them next to configured ones, in a second field.
        if !request.settings.sends("Cookie") { handle.set(CURLOPT_COOKIEFILE, "") }
        handle.set(CURLOPT_FOLLOWLOCATION, request.redirects > 0 ? 1 : 0)
        handle.set(CURLOPT_MAXREDIRS, max(0, request.redirects))
    }

    /// The methods for which a missing body is announced as an empty one (RFC 9110, section 8.6).
    private static let methodsWithBody: Set = ["POST", "PUT", "PATCH"]

    private func setMethod() {
        switch request.method {
        case "GET": handle.set(CURLOPT_HTTPGET, 1)
        case "HEAD": handle.set(CURLOPT_NOBODY, 1)
        case "POST": handle.set(CURLOPT_COPYPOSTFIELDS, "")
        default:
            if Self.methodsWithBody.contains(request.method) { handle.set(CURLOPT_COPYPOSTFIELDS, "") }
            // Only POST becomes GET after 301 and 302.
            handle.set(CURLOPT_POSTREDIR, Int(CURL_REDIR_POST_301 | CURL_REDIR_POST_302))
            handle.set(CURLOPT_CUSTOMREQUEST, request.method)
        }
    }

    /// Records that libcurl requested a socket for an address, and its error; 0 for none.
    func noteSocket(to address: InternetAddress, error: Int32) {
        if !isFound { attempts = ConnectionAttempts(redirects: handle.number(CURLINFO_REDIRECT_COUNT)) }
        attempts?.add(address, error: error)
    }

    // MARK: Receiving

    /// Receives bytes of the body; returns their number, or 0 to end the transfer if the limit is exceeded.
    func receive(_ chunk: UnsafeRawBufferPointer) -> Int {
        let room = Self.bodyLimit - body.count
        body += chunk.prefix(room)
        isBodyCut = chunk.count > room
        return isBodyCut ? 0 : chunk.count
    }

    /// Receives a line of the header; returns its length, or 0 to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        headerBytes += line.count
        // Informational responses may come first. Lines after a body are trailer fields.
        if body.isEmpty, String(decoding: line.prefix(5), as: UTF8.self).lowercased() == "http/" {
            isHeaderComplete = false
            handle.set(CURLOPT_FOLLOWLOCATION, follows(statusCode) ? 1 : 0)
            redirectsBefore = handle.number(CURLINFO_REDIRECT_COUNT)
        }
        if !isHeaderComplete, line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) {
            isHeaderComplete = true
            // A GET follows (RFC 9110, section 15.4.4), but libcurl would repeat a method that it does not know.
            if statusCode == 303 { handle.set(CURLOPT_CUSTOMREQUEST, nil as String?) }
            if !isIntermediate {
                judgeHeader()
                // libcurl would decode it, and a few bytes could expand to any number.
                if hasCoding { return 0 }
            }
        }
        return isHeaderTooLarge ? 0 : line.count
    }

    /// The last URL, after redirects.
    var lastURL: String {
        let url = handle.string(CURLINFO_EFFECTIVE_URL)
        return url.isEmpty ? request.url : url
    }

    var lastHost: String { handle.curl.part(CURLUPART_HOST, of: lastURL) ?? lastURL }
}
