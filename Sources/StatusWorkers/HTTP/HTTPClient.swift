// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc

/// Makes HTTP requests, one after another.
final class HTTPClient {
    private let curl: CurlLibrary
    /// The multi handle, which keeps the system's authorities between requests.
    private let multi: UnsafeMutableRawPointer
    private let authorities: Authorities

    /// The maximum processor time of a transfer.
    static let processorLimit = Duration.seconds(5)
    static var processorTime: Duration { .microseconds(clock()) }

    init() throws(HTTPFailure) {
        curl = try CurlLibrary()
        guard let multi = curl.functions.pointee.multi_init() else {
            throw HTTPFailure(reason: "cannot initialize libcurl: out of memory")
        }
        self.multi = multi
        authorities = Authorities(systemFile: curl.authoritiesFile)
    }

    deinit { _ = curl.functions.pointee.multi_cleanup(multi) }

    func perform(_ request: HTTPRequest) -> HTTPOutcome {
        do throws(HTTPFailure) {
            let lifetime = try authorities.lifetime(for: request)
            let transfer = try HTTPTransfer(request, authoritiesLifetime: lifetime, curl)
            let code = try run(transfer, within: request.timeout)
            guard let problem = transfer.certificateProblem(code) else {
                return transfer.outcome(code).with(transfer.certificateLife)
            }
            let certificates = problem.isInCertificate ? inspect(transfer) : []
            return HTTPOutcome.unexpected(reason: problem.reason(for: transfer.lastHost, certificates))
                .after(transfer.redirect)
        } catch {
            return error.outcome
        }
    }

    /// Reads the certificates that made a transfer fail; returns none if too little of its timeout is left.
    ///
    /// libcurl does not provide them after a failed handshake, so this makes a second one.
    private func inspect(_ failed: HTTPTransfer) -> [Certificate] {
        let timeout = failed.timeLeft
        guard timeout > .milliseconds(10), let transfer = try? HTTPTransfer(inspecting: failed, timeout: timeout),
            (try? run(transfer, within: timeout)) != nil
        else { return [] }
        return transfer.handle.certificates
    }

    /// How long to receive what does not matter any more.
    ///
    /// Otherwise most servers would see that the connection ends within their response.
    private static let farewell = Duration.milliseconds(250)

    /// Runs a transfer until its end or its timeout, which libcurl itself may exceed after a redirect.
    ///
    /// It also ends soon after there is a verdict.
    private func run(_ transfer: HTTPTransfer, within limit: Duration) throws(HTTPFailure) -> CURLcode {
        var end = SuspendingClock.now + limit
        let processorEnd = Self.processorTime + Self.processorLimit
        let functions = curl.functions.pointee
        guard functions.multi_add_handle(multi, transfer.handle.easy) == CURLM_OK else {
            throw HTTPFailure(reason: "out of memory", isLocal: true)
        }
        defer { _ = functions.multi_remove_handle(multi, transfer.handle.easy) }
        var (running, left): (Int32, Int32) = (1, 0)
        while true {
            guard functions.multi_perform(multi, &running) == CURLM_OK else { return CURLE_FAILED_INIT }
            if let message = functions.multi_info_read(multi, &left)?.pointee { return message.data.result }
            if let time = transfer.judgeBody() { end = min(end, time + Self.farewell) }
            let time = end - .now
            if time <= .zero { return CURLE_OPERATION_TIMEDOUT }
            if Self.processorTime > processorEnd {
                let limit = Self.processorLimit.components.seconds
                throw HTTPFailure(reason: "reading the response takes more than \(limit) s of processor time")
            }
            let milliseconds = Int32(min(time / .milliseconds(1) + 1, 1e9))
            var daemon = curl_waitfd(fd: STDIN_FILENO, events: Int16(CURL_WAIT_POLLIN), revents: 0)
            _ = functions.multi_poll(multi, &daemon, 1, milliseconds, nil)
            // The daemon sends nothing during a request, so it has disconnected.
            if daemon.revents != 0 { _exit(0) }
        }
    }
}
