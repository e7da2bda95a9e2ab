// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import SourceKinds
import StatusModel
import StatusSupport

extension HTTPTransfer {
    var statusCode: Int { handle.number(CURLINFO_RESPONSE_CODE) }

    /// Whether another response will follow: this one is informational, or a redirect that libcurl follows.
    var isIntermediate: Bool {
        switch statusCode {
        // No other response follows after the protocol has been switched.
        case 100..<200: statusCode != 101
        case let code: follows(code) && handle.values(of: "Location").first?.isEmpty == false
        }
    }

    /// Whether a redirect with this status code is followed; libcurl would follow others, too.
    func follows(_ code: Int) -> Bool { request.redirects > 0 && HTTPSettings.followed.contains(code) }

    /// Whether the response has a transfer encoding that was not requested; `identity` is none (RFC 2616, section 3.6).
    var hasCoding: Bool {
        handle.values(of: "Transfer-Encoding").joined(separator: ",").lowercased().split(separator: ",")
            .map { String(decoding: $0.utf8.filter { !" \t".utf8.contains($0) }, as: UTF8.self) }
            .contains { !["", "identity", "chunked"].contains($0) }
    }

    /// The content encodings of the response, cut to a readable length; nil if there are none.
    var contentEncoding: String? {
        let value = handle.values(of: "Content-Encoding").joined(separator: ", ")
        return ["", "identity"].contains(value.lowercased())
            ? nil : String(decoding: value.utf8.prefix(60), as: UTF8.self)
    }

    /// Judges a response, except for its body.
    func judgeHeader() {
        if !isExpected {
            decide(.unexpected(reason: unexpectedCode))
        } else if hasCoding {
            decide(.unexpected(reason: Self.unrequestedCoding))
        } else if !request.settings.judgesBody {
            decideAsExpected()
        }
    }

    var unexpectedCode: String {
        "expected \(HTTPSettings.text(of: request.statusCodes)), got \(statusCode)"
            + (statusCode == 407 ? "; the proxy requires a user and a password" : "")
    }

    var isExpected: Bool { request.statusCodes.contains { $0.contains(statusCode) } }

    /// Judges the body as far as it has arrived; returns when there was a verdict, if there is one.
    ///
    /// - Parameter isComplete: whether no more of the body will be received.
    @discardableResult
    func judgeBody(isComplete: Bool = false) -> SuspendingClock.Instant? {
        guard verdict == nil, request.settings.judgesBody else { return verdict?.time }
        if let text = request.contains, !isTextFound {
            isTextFound = Self.contains(body, text, from: searched - text.utf8.count + 1)
            searched = body.count
        }
        let hasText = request.contains == nil || isTextFound
        if hasText, !request.settings.needsWholeBody {
            decideAsExpected()
        } else if isComplete {
            if let failure = hasText ? bodyFailure : missingText {
                decide(failure.outcome)
            } else {
                decideAsExpected()
            }
        }
        return verdict?.time
    }

    private var missingText: HTTPFailure? {
        request.contains.map { HTTPFailure(reason: "expected “\($0)”, not found in \(whatWasSearched)") }
    }

    /// What the body was, with its encoding if that may be why something was not found.
    private var whatWasSearched: String {
        let searched = isBodyCut ? "the first \(Self.bodyLimit / 1024) KiB of the response" : "the response"
        return searched + (unrequestedEncoding.map { ", whose content encoding \($0) was not requested" } ?? "")
    }

    private var unrequestedEncoding: String? {
        request.settings.sends("Accept-Encoding") ? nil : contentEncoding
    }

    /// The reason why a complete body does not have what `matches` and `json` expect; nil if it has.
    private var bodyFailure: HTTPFailure? {
        if let pattern = request.matches, let failure = failure(toMatch: pattern) { return failure }
        guard let json = request.json else { return nil }
        if isBodyCut { return HTTPFailure(reason: "the response is larger than \(Self.bodyLimit / 1024) KiB") }
        let finding = JSONFinding(json.path, in: body)
        if finding == .notJSON, let encoding = unrequestedEncoding {
            return HTTPFailure(reason: "the response has the content encoding \(encoding), which was not requested")
        }
        return finding.problem(expecting: json).map { HTTPFailure(reason: $0) }
    }

    private func failure(toMatch pattern: String) -> HTTPFailure? {
        do throws(RegularExpression.Failure) {
            if try RegularExpression(pattern).matches(body) { return nil }
            return HTTPFailure(reason: "“\(pattern)” does not match \(whatWasSearched)")
        } catch {
            let reason =
                switch error {
                case .invalid(let reason): "“matches” is not a regular expression: \(reason)"
                case .tooExpensive(let reason): "the regular expression of “matches” \(reason); make it simpler"
                case .unavailable(let reason): reason
                }
            return HTTPFailure(reason: reason, isLocal: true)
        }
    }

    /// Returns the outcome of a transfer that the certificate did not end.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        switch code {
        // These reasons name the host, or are about the redirect itself.
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_TOO_MANY_REDIRECTS, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            result(code)
        case CURLE_OPERATION_TIMEDOUT where !hasBegun && !isFound: result(code)
        default: result(code).after(redirect)
        }
    }

    /// The address that redirects have led to; nil without a redirect.
    ///
    /// It has neither credentials nor a query, which may be secret.
    var redirect: String? {
        guard handle.number(CURLINFO_REDIRECT_COUNT) > 0 else { return nil }
        let address = lastURL.prefix { !"?#".contains($0) }.split(separator: "/", omittingEmptySubsequences: false)
        guard address.count > 2 else { return nil }
        let host = address[2].split(separator: "@").suffix(1)
        return VisibleText.excerpt((address[..<2] + host + address[3...]).joined(separator: "/"), bytes: 100)
    }

    private func result(_ code: CURLcode) -> HTTPOutcome {
        if request.handshake != nil, code == CURLE_OK { return .expected(statusCode: 0, duration: .now - began) }
        let isComplete = code == CURLE_OK || code == CURLE_WRITE_ERROR && isBodyCut
        // libcurl treats a closed connection like the end of the header.
        if isComplete, isHeaderComplete, verdict == nil { judgeHeader() }
        judgeBody(isComplete: isComplete && isHeaderComplete)
        if let verdict { return verdict.outcome }
        if let failure = socketFailure(code) { return failure.outcome }
        if let shortage = shortage(code) { return HTTPFailure(reason: shortage, isLocal: true).outcome }
        return HTTPFailure(reason: reason(code), isLocal: code == CURLE_SSL_CACERT_BADFILE).outcome
    }

    private func decideAsExpected() { decide(.expected(statusCode: statusCode, duration: .now - began)) }

    private func decide(_ outcome: HTTPOutcome) { verdict = (outcome, .now) }

    /// Whether the bytes from an index contain a text; takes linear time (memmem(3)).
    static func contains(_ bytes: [UInt8], _ text: String, from start: Int = 0) -> Bool {
        let part = Array(text.utf8)
        return bytes[max(0, start)...].withUnsafeBytes { memmem($0.baseAddress, $0.count, part, part.count) != nil }
    }
}
