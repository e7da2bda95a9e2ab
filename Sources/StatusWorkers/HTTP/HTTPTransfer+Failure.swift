// SPDX-License-Identifier: Apache-2.0

import CCurl
import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusSupport

/// The reason why there is no response.
struct HTTPFailure: Error, Equatable {
    /// A short phrase in lower case, without a full stop.
    let reason: String
    /// Whether the cause is a lack of resources on this host, so that the state of the server is unknown.
    var isLocal = false

    var outcome: HTTPOutcome { isLocal ? .notMade(reason: reason) : .unexpected(reason: reason) }
}

extension HTTPTransfer {
    /// Returns the problem with the server's certificate, if that ended the transfer.
    func certificateProblem(_ code: CURLcode) -> CertificateProblem? {
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return nil }
        let result = handle.number(CURLINFO_SSL_VERIFYRESULT)
        return CertificateProblem(
            openSSL: result, text: handle.text(of: code).droppingPrefix("SSL certificate problem: "))
    }

    /// Returns the reason why there is no response, as a phrase.
    func reason(_ code: CURLcode) -> String {
        switch code {
        // libcurl treats a closed connection like the end of the header.
        case CURLE_OK: Self.closedWithin
        case CURLE_WRITE_ERROR where isHeaderTooLarge: Self.largeHeader
        // libcurl reports this if a line of the header is too long.
        case CURLE_OUT_OF_MEMORY: Self.largeHeader
        case CURLE_OPERATION_TIMEDOUT: timeoutReason
        case CURLE_COULDNT_RESOLVE_HOST: lookUpReason
        case CURLE_COULDNT_CONNECT: connectionReason
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR: transferReason(code)
        case CURLE_TOO_MANY_REDIRECTS: "too many redirects (\(request.redirects))"
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: addressReason(code)
        case CURLE_WEIRD_SERVER_REPLY where request.handshake == nil: "the response is not HTTP"
        case CURLE_USE_SSL_FAILED: "the server does not offer STARTTLS"
        case CURLE_PROXY: "proxy: \(handle.text(of: code).asPhrase)"
        case CURLE_GOT_NOTHING: Self.closedUnanswered
        case CURLE_PARTIAL_FILE: Self.closedWithin
        case CURLE_BAD_CONTENT_ENCODING: encodingReason(code)
        case CURLE_SSL_CACERT_BADFILE:
            request.certificateAuthority.map { "cannot read certificates from \($0): no certificate in the file" }
                ?? "cannot read the system's certificates; install the package ca-certificates, or make them readable"
        case CURLE_SSL_CONNECT_ERROR: "TLS handshake failed: \(handshakeReason)"
        default: handle.text(of: code).asPhrase
        }
    }

    /// The reason for a timeout: the lookup of a name, or the host itself.
    private var timeoutReason: String {
        let time = TimeSpan.text(request.timeout)
        if hasBegun, !isHeaderComplete, !isIntermediate, !isExpected {
            return "\(unexpectedCode), and its header was not complete within \(time)"
        }
        if hasBegun { return "the response was not complete within \(time)" }
        return isFound ? "no answer within \(time)" : "\(FailedLookUp(host: lookedUpHost, unansweredFor: time))"
    }

    /// The reason why the last host cannot be looked up.
    private var lookUpReason: String {
        switch HostLookup.result(lookedUpHost, within: timeLeft) {
        case nil: "\(FailedLookUp(host: lookedUpHost, unansweredFor: TimeSpan.text(request.timeout)))"
        case 0: "cannot look up host \(lookedUpHost)"
        case let failure?: "\(FailedLookUp(host: lookedUpHost, failure))"
        }
    }

    /// The reason why an encoding cannot be decoded.
    private func encodingReason(_ code: CURLcode) -> String {
        // From libcurl 8.12 on, its text for what `hasCoding` finds.
        handle.text(of: code).contains("Transfer-Encoding")
            ? Self.unrequestedCoding : "cannot decode the content encoding \(contentEncoding ?? "") of the response"
    }

    private static let largeHeader = "the response header is too large"
    static let unrequestedCoding = "the response has a transfer encoding that was not requested"
    private static let closedUnanswered = "connection closed without a response"
    private static let closedWithin = "connection closed before the end of the response"

    /// Returns the resource that this host lacked to try an address: a descriptor, memory or a port.
    func shortage(_ code: CURLcode) -> String? {
        guard let attempts else { return nil }
        if let shortage = attempts.shortage { return Self.phrase(shortage) }
        guard code == CURLE_COULDNT_CONNECT else { return nil }
        // libcurl keeps only the error of the last attempt. For the other addresses, this checks for a free port;
        // bind(2) may find a port in use that connect(2) could still use for another peer.
        let isOutOfPorts =
            connectionError == EADDRNOTAVAIL && !attempts.addresses.isEmpty
            || attempts.addresses.dropLast().contains { !$0.hasFreePort }
        return isOutOfPorts ? Self.phrase(EADDRNOTAVAIL) : nil
    }

    private static func phrase(_ number: Int32) -> String { String(cString: strerror(number)).asPhrase }

    /// The system's error text for the last attempt to connect, or else libcurl's text.
    private var connectionReason: String {
        let number = connectionError
        let reason = systemReason(number)
        return request.proxy == nil ? reason : "cannot connect to the proxy: \(reason)"
    }

    private func systemReason(_ number: Int32) -> String {
        number > 0 ? Self.phrase(number) : handle.text(of: CURLE_COULDNT_CONNECT).asPhrase
    }

    /// The reason why the request's socket cannot be connected to; nil if that did not fail.
    ///
    /// A missing permission is no fault of the server, and what the sandbox hides may work.
    func socketFailure(_ code: CURLcode) -> HTTPFailure? {
        guard let socket = request.socket, code == CURLE_COULDNT_CONNECT else { return nil }
        if let reason = HiddenFolders.current.reason(for: socket) {
            return HTTPFailure(reason: "cannot connect to \(socket): \(reason)", isLocal: true)
        }
        let number = connectionError
        guard number == EACCES || number == EPERM else {
            return HTTPFailure(reason: "cannot connect to \(socket): \(systemReason(number))")
        }
        var status = stat()
        let isForGroup = stat(socket, &status) == 0 && status.st_mode & S_IWGRP != 0
        let group = isForGroup ? getgrgid(status.st_gid).map { String(cString: $0.pointee.gr_name) } : nil
        let advice =
            group.map { "; add SupplementaryGroups=\($0) by “systemctl edit statusd”, and restart it" } ?? ""
        let reason = SystemErrorText.text(of: EACCES).asPhrase
        return HTTPFailure(reason: "cannot connect to \(socket): \(reason)\(advice)", isLocal: true)
    }

    private var connectionError: Int32 {
        if let attempts, attempts.addresses.isEmpty { return attempts.error }
        return Int32(truncatingIfNeeded: handle.number(CURLINFO_OS_ERRNO))
    }

    /// The reason why the TLS handshake failed; it is available only as text.
    private var handshakeReason: String {
        let reason = lastPart(of: CURLE_SSL_CONNECT_ERROR)
        // OpenSSL's texts if the peer has closed the connection.
        if reason.contains("SSL_ERROR_SYSCALL") || reason.contains("SSL_ERROR_ZERO_RETURN") {
            return "connection closed"
        }
        // OpenSSL's text if the peer answers without TLS.
        return reason.contains("wrong version number")
            ? "the server does not speak TLS at this port, or only after STARTTLS" : reason.asPhrase
    }

    /// Returns the reason for an error that means an invalid URL or a response that is not HTTP.
    ///
    /// Each URL gets its own connection. So if the last URL got one, the response was at fault, not the URL.
    private func addressReason(_ code: CURLcode) -> String {
        let redirects = handle.number(CURLINFO_REDIRECT_COUNT)
        if handle.number(CURLINFO_NUM_CONNECTS) > redirects { return "the response is not HTTP" }
        if redirects == 0 { return "invalid URL" }
        guard code == CURLE_UNSUPPORTED_PROTOCOL else { return "redirected to an invalid URL" }
        return request.isSecure && lastURL.lowercased().hasPrefix("http:")
            ? "redirected from https to http" : "redirected to a URL that is neither http nor https"
    }

    /// Returns the reason why sending or receiving failed; it is available only as text.
    private func transferReason(_ code: CURLcode) -> String {
        let text = handle.text(of: code)
        // This text contains numbers that differ each time.
        if text.hasPrefix("Too large response headers") { return Self.largeHeader }
        // OpenSSL's text for a closed connection, which some versions of libcurl report.
        if text.contains("unexpected eof while reading") {
            return handle.number(CURLINFO_HEADER_SIZE) == 0 ? Self.closedUnanswered : Self.closedWithin
        }
        // libcurl's text for a mail server that has closed the connection; the number means nothing.
        if text.hasPrefix("response reading failed") { return "connection closed" }
        return text.hasPrefix("CONNECT tunnel failed") ? "proxy: \(text)" : lastPart(of: code).asPhrase
    }

    /// Returns libcurl's text after `Recv failure: ` or `error:0A00010B:SSL routines::`.
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

    /// Returns the range from the last occurrence of `part` to the end.
    fileprivate func range(of part: String) -> PartialRangeFrom<String.Index>? {
        indices.last { self[$0...].hasPrefix(part) }.map { $0... }
    }
}
