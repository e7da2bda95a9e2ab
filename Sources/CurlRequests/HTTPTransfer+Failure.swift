// SPDX-License-Identifier: Apache-2.0

import CCurl
import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

extension HTTPTransfer {
    /// The problem with the server's certificate, if that ended the transfer.
    func certificateProblem(_ code: CURLcode) -> CertificateProblem? {
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return nil }
        let result = handle.number(CURLINFO_SSL_VERIFYRESULT)
        guard handle.curl.usesOpenSSL else { return CertificateProblem(gnuTLS: result) }
        return CertificateProblem(
            openSSL: result, text: handle.text(of: code).droppingPrefix("SSL certificate problem: "))
    }

    /// The reason for a missing response, as a phrase.
    func reason(_ code: CURLcode) -> String {
        switch code {
        case CURLE_WRITE_ERROR where isHeaderTooLarge: Self.largeHeader
        case CURLE_WRITE_ERROR where hasCoding: "the response has a transfer encoding that was not requested"
        // libcurl reports this for a line of the header that is too long.
        case CURLE_OUT_OF_MEMORY: Self.largeHeader
        case CURLE_OPERATION_TIMEDOUT: timeoutReason
        case CURLE_COULDNT_RESOLVE_HOST: "cannot look up host \(lastHost)"
        case CURLE_COULDNT_CONNECT: connectionReason
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR: transferReason(code)
        case CURLE_TOO_MANY_REDIRECTS: "too many redirects (\(request.redirects))"
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: addressReason(code)
        case CURLE_WEIRD_SERVER_REPLY: "the response is not HTTP"
        case CURLE_GOT_NOTHING: Self.closedUnanswered
        case CURLE_PARTIAL_FILE: Self.closedWithin
        case CURLE_SSL_CACERT_BADFILE:
            request.certificateAuthority.map { "cannot read certificates from \($0): no certificate in the file" }
                ?? "cannot read the system's certificates; install the package ca-certificates, or make them readable"
        case CURLE_SSL_CONNECT_ERROR: "TLS handshake failed: \(handshakeReason)"
        default: handle.text(of: code).asPhrase
        }
    }

    /// A phrase for an answer that did not come in time.
    static func noAnswer(within timeout: Duration) -> String { "no answer within \(TimeSpan.text(timeout))" }

    /// The reason of a timeout: the lookup of the first host's name, or the host itself.
    private var timeoutReason: String {
        if hasBegun {
            return "the response was not complete within \(TimeSpan.text(request.timeout))"
        }
        let reason = Self.noAnswer(within: request.timeout)
        let isFound = handle.duration(CURLINFO_NAMELOOKUP_TIME_T) > .zero
        return isFound ? reason : "cannot look up host \(lastHost): \(reason)"
    }

    private static let largeHeader = "the response header is too large"
    private static let closedUnanswered = "connection closed without a response"
    static let closedWithin = "connection closed before the end of the response"

    /// What this host lacked (a descriptor, memory or a port) to try one of the addresses; nil if nothing.
    func shortage(_ code: CURLcode) -> String? {
        if let socketShortage { return Self.phrase(socketShortage) }
        guard code == CURLE_COULDNT_CONNECT else { return nil }
        // libcurl keeps the reason of the last attempt. For the others, this looks for a port, which bind(2) may find
        // taken although connect(2) could use it for another peer.
        let isOutOfPorts = addresses.enumerated().contains { index, address in
            let isLast = index == addresses.count - 1
            return (isLast ? connectionError == EADDRNOTAVAIL : !address.hasFreePort) && address.hasSource
        }
        return isOutOfPorts ? Self.phrase(EADDRNOTAVAIL) : nil
    }

    private static func phrase(_ number: Int32) -> String { String(cString: strerror(number)).asPhrase }

    /// The system's text about the last attempt to connect, if there is one.
    private var connectionReason: String {
        let number = connectionError
        return number > 0 ? Self.phrase(number) : handle.text(of: CURLE_COULDNT_CONNECT).asPhrase
    }

    private var connectionError: Int32 {
        socketError != 0 ? socketError : Int32(truncatingIfNeeded: handle.number(CURLINFO_OS_ERRNO))
    }

    /// Why the TLS handshake failed, for which there is only text.
    private var handshakeReason: String {
        let reason = lastPart(of: CURLE_SSL_CONNECT_ERROR)
        // OpenSSL's text if the other side has closed the connection.
        if reason.contains("SSL_ERROR_SYSCALL") || reason.contains("SSL_ERROR_ZERO_RETURN") {
            return "connection closed"
        }
        // OpenSSL's and GnuTLS' texts if it answers without TLS.
        let isPlain = reason.contains("wrong version number") || reason.contains("unexpected TLS packet")
        return isPlain ? "the server does not speak TLS at this port" : reason.asPhrase
    }

    /// The reason for an error that may be an invalid URL or a response that is not HTTP.
    ///
    /// If the last URL got a connection, then the response was at fault, not the URL: each URL gets its own connection.
    private func addressReason(_ code: CURLcode) -> String {
        let redirects = handle.number(CURLINFO_REDIRECT_COUNT)
        if handle.number(CURLINFO_NUM_CONNECTS) > redirects { return "the response is not HTTP" }
        if redirects == 0 { return "invalid URL" }
        guard code == CURLE_UNSUPPORTED_PROTOCOL else { return "redirected to an invalid URL" }
        return request.isSecure && lastURL.lowercased().hasPrefix("http:")
            ? "redirected from https to http" : "redirected to a URL that is neither http nor https"
    }

    /// Why sending or receiving failed, for which there is only text.
    private func transferReason(_ code: CURLcode) -> String {
        let text = handle.text(of: code)
        // Its text has numbers that differ each time.
        if text.hasPrefix("Too large response headers") { return Self.largeHeader }
        // Some versions of libcurl report OpenSSL's text for this, with an errno of 0.
        if text.contains("unexpected eof while reading") {
            return handle.number(CURLINFO_HEADER_SIZE) == 0 ? Self.closedUnanswered : Self.closedWithin
        }
        return lastPart(of: code).asPhrase
    }

    /// libcurl's text after `Recv failure: ` or `error:0A00010B:SSL routines::`.
    private func lastPart(of code: CURLcode) -> String {
        let text = handle.text(of: code)
        if let error = text.range(of: "error:") {
            return text[error].split(separator: ":").last.map(String.init) ?? text
        }
        for prefix in ["Recv failure: ", "Send failure: "] where text.hasPrefix(prefix) {
            return text.droppingPrefix(prefix)
        }
        return text
    }
}

extension String {
    fileprivate func droppingPrefix(_ prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }

    /// The range from the last occurrence of `part` to the end.
    fileprivate func range(of part: String) -> PartialRangeFrom<String.Index>? {
        indices.last { self[$0...].hasPrefix(part) }.map { $0... }
    }
}
