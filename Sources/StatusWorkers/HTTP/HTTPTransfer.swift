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
    /// The header fields with credentials.
    let secrets: [String]
    private(set) var body: [UInt8] = []
    /// How many bytes of the body have been searched, and whether that found the text.
    var searched = 0
    var isTextFound = false
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
        secrets = try Credentials.fields(request.credentials)
        handle = try CurlHandle(curl)
        setConnection()
        setTrust(authoritiesLifetime)
        if request.expires != nil { handle.set(CURLOPT_CERTINFO, 1) }
        if request.handshake == nil { setRequest() }
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot make the request", isLocal: true) }
    }

    /// Creates a transfer that only reads the certificates of the host that a failed transfer had reached.
    ///
    /// It verifies nothing and sends no request.
    init(inspecting failed: HTTPTransfer, timeout: Duration) throws(HTTPFailure) {
        var request = failed.request
        (request.settings.url, request.timeout) = (failed.lastURL, timeout)
        self.request = request
        secrets = []
        handle = try CurlHandle(failed.handle.curl)
        setConnection()
        handle.set(CURLOPT_SSL_VERIFYPEER, 0)
        handle.set(CURLOPT_SSL_VERIFYHOST, 0)
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        handle.set(CURLOPT_CERTINFO, 1)
        // The name may have several addresses; use the same one.
        let address = failed.handle.string(CURLINFO_PRIMARY_IP)
        if !address.isEmpty, request.socket == nil, request.proxy == nil {
            handle.set(CURLOPT_CONNECT_TO, [address.contains(":") ? "::[\(address)]:" : "::\(address):"])
        }
        guard handle.isComplete else { throw HTTPFailure(reason: "cannot read the certificate") }
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
            if follows(statusCode), !request.credentials.isEmpty, !redirectsToSameOrigin {
                setHeaders(withCredentials: false)
            }
            if !isIntermediate {
                judgeHeader()
                // libcurl would decode it, and a few bytes could expand to any number.
                if hasCoding { return 0 }
            }
        }
        return isHeaderTooLarge ? 0 : line.count
    }

    /// Whether a redirect certainly leads to the same host and port.
    ///
    /// Otherwise libcurl withholds only `Authorization` and `Cookie`.
    private var redirectsToSameOrigin: Bool {
        guard let origin = handle.curl.origin(of: lastURL) else { return false }
        return handle.values(of: "Location").allSatisfy { handle.curl.origin(of: lastURL, $0) == origin }
    }

    /// The last URL, after redirects.
    var lastURL: String {
        let url = handle.string(CURLINFO_EFFECTIVE_URL)
        return url.isEmpty ? request.url : url
    }

    /// The host in the last URL, for which the certificate must be valid.
    var lastHost: String { handle.curl.part(CURLUPART_HOST, of: lastURL) ?? lastURL }

    /// The host that was looked up last.
    var lookedUpHost: String {
        guard let handshake = request.handshake else { return lastHost }
        return handle.curl.part(CURLUPART_HOST, of: "https://\(handshake.address)/") ?? lastHost
    }

    /// The certificate that expires first, of those of the last host; nil if it was not requested.
    var certificateLife: CertificateLife? {
        request.expires == nil ? nil : CertificateLife(handle.certificates, now: time(nil))
    }
}
