// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import StatusModel

extension HTTPTransfer {
    /// What was wrong with the server's certificate, where it was that which ended the transfer.
    func certificateProblem(_ code: CURLcode) -> CertificateProblem? {
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return nil }
        let result = handle.number(CURLINFO_SSL_VERIFYRESULT)
        guard handle.curl.usesOpenSSL else { return CertificateProblem(gnuTLS: result) }
        return CertificateProblem(
            openSSL: result, text: handle.text(of: code).droppingPrefix("SSL certificate problem: "))
    }

    /// A phrase for why there is no answer.
    func reason(_ code: CURLcode) -> String {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: "no answer within \(TimeSpan.text(request.timeout))"
        case CURLE_COULDNT_RESOLVE_HOST: "host not found: \(lastHost)"
        case CURLE_COULDNT_CONNECT: connectionReason
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR: Self.phrase(lastPart(of: code))
        case CURLE_TOO_MANY_REDIRECTS: "too many redirects (\(request.redirects))"
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: addressReason
        case CURLE_WEIRD_SERVER_REPLY: "the answer is no HTTP"
        case CURLE_GOT_NOTHING: "connection closed without an answer"
        case CURLE_PARTIAL_FILE: "connection closed within the answer"
        case CURLE_SSL_CACERT_BADFILE:
            request.caFile.map { "cannot read certificates from \($0)" }
                ?? "cannot read the system's certificates; install the package ca-certificates"
        case CURLE_SSL_CONNECT_ERROR: "no TLS connection: \(handshakeReason)"
        default: Self.phrase(handle.text(of: code))
        }
    }

    /// What the system says about the last attempt to connect, where it says anything.
    private var connectionReason: String {
        let number = socketError != 0 ? socketError : Int32(truncatingIfNeeded: handle.number(CURLINFO_OS_ERRNO))
        return Self.phrase(number > 0 ? String(cString: strerror(number)) : handle.text(of: CURLE_COULDNT_CONNECT))
    }

    /// Why TLS did not come about, for which there are words only.
    private var handshakeReason: String {
        let reason = lastPart(of: CURLE_SSL_CONNECT_ERROR)
        // OpenSSL's way to say that the other side has closed the connection.
        return reason.hasPrefix("SSL_ERROR_SYSCALL") ? "connection closed" : Self.phrase(reason)
    }

    /// libcurl has one number for an address that it refuses and for an answer that is no HTTP.
    ///
    /// It was the answer where the last address got a connection: there is one for each address, since none is used again.
    private var addressReason: String {
        let redirects = handle.number(CURLINFO_REDIRECT_COUNT)
        if handle.number(CURLINFO_NUM_CONNECTS) > redirects { return "the answer is no HTTP" }
        return redirects == 0 ? "the URL is not valid" : "redirected to an address that is not valid"
    }

    /// libcurl's words without who says them: what follows after `Recv failure: ` or `error:0A00010B:SSL routines::`.
    private func lastPart(of code: CURLcode) -> String {
        let text = handle.text(of: code)
        let parts = text.split(separator: ": ")
        guard let last = parts.last, last.hasPrefix("error:") else { return parts.last.map(String.init) ?? text }
        return last.split(separator: ":").last.map(String.init) ?? text
    }

    /// libcurl's words as a phrase: in one line, and in lower case unless it is a name that begins.
    private static func phrase(_ text: String) -> String {
        let words = text.split(whereSeparator: \.isWhitespace)
        let isName = words.first?.dropFirst().contains(where: \.isUppercase) ?? false
        var phrase = words.joined(separator: " ")
        if phrase.hasSuffix(".") { phrase.removeLast() }
        return isName ? phrase : phrase.prefix(1).lowercased() + phrase.dropFirst()
    }
}

extension String {
    fileprivate func droppingPrefix(_ prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }
}
