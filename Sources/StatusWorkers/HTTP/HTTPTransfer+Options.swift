// SPDX-License-Identifier: Apache-2.0

import CCurl
import SourceKinds

/// What is sent, and how.
extension HTTPTransfer {
    /// Sets the options of a new connection that reuses nothing from earlier checks, which could hide a problem.
    func setConnection() {
        handle.setCallbacks(for: self)
        handle.set(CURLOPT_URL, request.url)
        handle.set(CURLOPT_NOSIGNAL, 1)
        // Otherwise a hanging resolver delays the end of the transfer.
        handle.set(CURLOPT_QUICK_EXIT, 1)
        handle.set(CURLOPT_PROTOCOLS_STR, request.handshake == nil ? "http,https" : "https,smtp,imap,pop3")
        // A redirect must not cause an unencrypted request.
        handle.set(CURLOPT_REDIR_PROTOCOLS_STR, request.isSecure ? "https" : "http,https")
        // Without these, the environment would decide.
        handle.set(CURLOPT_PROXY, request.proxy ?? "")
        handle.set(CURLOPT_NOPROXY, "")
        // The header of a proxy's answer to CONNECT is not that of the response.
        handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if let socket = request.socket { handle.set(CURLOPT_UNIX_SOCKET_PATH, socket) }
        setHandshake()
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

    /// Makes the transfer end with the handshake, also after the STARTTLS of a mail protocol, which must succeed.
    private func setHandshake() {
        guard let handshake = request.handshake else { return }
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        handle.set(CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue))
        handle.set(CURLOPT_CONNECT_TO, ["::\(handshake.address)"])
    }

    func setTrust(_ authoritiesLifetime: Int) {
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

    func setRequest() {
        handle.set(CURLOPT_USERAGENT, request.userAgent)
        setMethod()
        setHeaders(withCredentials: true)
        // All encodings that libcurl knows; the request names those that are configured.
        if request.settings.sends("Accept-Encoding") { handle.set(CURLOPT_ACCEPT_ENCODING, "") }
        // Keeps the cookies of this transfer. libcurl would send them next to configured ones, in a second field.
        if !request.settings.sends("Cookie") { handle.set(CURLOPT_COOKIEFILE, "") }
        handle.set(CURLOPT_FOLLOWLOCATION, request.redirects > 0 ? 1 : 0)
        handle.set(CURLOPT_MAXREDIRS, max(0, request.redirects))
    }

    /// Sets the header fields of the next request.
    func setHeaders(withCredentials: Bool) {
        var headers = request.headers + (withCredentials ? secrets : [])
        // libcurl would add the type of a form; a later line still sets another type.
        if request.body != nil || Self.methodsWithBody.contains(request.method) {
            headers.insert("Content-Type:", at: 0)
        }
        // libcurl sends a field without a value only if it ends in a semicolon.
        let lines = headers.map { $0.hasSuffix(": ") ? $0.dropLast(2) + ";" : $0 }
        // An empty list would change nothing.
        handle.set(CURLOPT_HTTPHEADER, nil as String?)
        handle.set(CURLOPT_HTTPHEADER, lines)
    }

    /// The methods for which a missing body is announced as an empty one (RFC 9110, section 8.6).
    private static let methodsWithBody: Set = ["POST", "PUT", "PATCH"]

    private func setMethod() {
        switch request.method {
        case "GET" where request.body == nil: handle.set(CURLOPT_HTTPGET, 1)
        case "HEAD": handle.set(CURLOPT_NOBODY, 1)
        case "POST": handle.set(CURLOPT_COPYPOSTFIELDS, request.body ?? "")
        default:
            let body = request.body ?? (Self.methodsWithBody.contains(request.method) ? "" : nil)
            if let body { handle.set(CURLOPT_COPYPOSTFIELDS, body) }
            // Only POST becomes GET after 301 and 302.
            handle.set(CURLOPT_POSTREDIR, Int(CURL_REDIR_POST_301 | CURL_REDIR_POST_302))
            handle.set(CURLOPT_CUSTOMREQUEST, request.method)
        }
    }
}
