// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import StatusWorkers

/// HTTP requests that are made side by side, by one multi handle of libcurl's.
final class HTTPRequests {
    private struct Underway {
        let number: Int
        /// What runs: the request, or a look at the certificates it was refused for.
        let transfer: HTTPTransfer
        /// The request and what was wrong, while the certificates are looked at.
        var refused: (transfer: HTTPTransfer, problem: CertificateProblem)?
    }

    private let curl: CurlLibrary
    private let multi: UnsafeMutableRawPointer
    private let authorities: Authorities
    /// The transfers that the multi handle has, by their easy handles.
    private var underway: [UnsafeMutableRawPointer: Underway] = [:]
    private var answers: [HTTPAnswer] = []

    /// No request; loads libcurl.
    init() throws(HTTPUnavailable) {
        curl = try CurlLibrary()
        guard let multi = curl.functions.pointee.multi_init() else {
            throw HTTPUnavailable(reason: "libcurl does not start: out of memory")
        }
        self.multi = multi
        authorities = Authorities(systemFile: curl.authoritiesFile)
        // So that a redirection does not take the connection of another transfer.
        _ = statusd_curl_set_multi_long(curl.functions, multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
    }

    deinit {
        for easy in underway.keys { _ = curl.functions.pointee.multi_remove_handle(multi, easy) }
        _ = curl.functions.pointee.multi_cleanup(multi)
    }

    /// Begins a request.
    func start(_ request: HTTPRequest, number: Int) {
        do throws(HTTPFailure) {
            try LookUps.check()
            let transfer = try HTTPTransfer(
                request, authoritiesLifetime: try authorities.lifetime(for: request), curl)
            try run(Underway(number: number, transfer: transfer))
        } catch {
            answer(number, error.outcome)
        }
    }

    /// Forgets a request; nothing is answered.
    func stop(number: Int) {
        guard let easy = underway.first(where: { $0.value.number == number })?.key else { return }
        _ = end(easy)
    }

    /// Does what can be done without waiting; returns the answers that are there now.
    func perform() -> [HTTPAnswer] {
        var count: Int32 = 0
        _ = curl.functions.pointee.multi_perform(multi, &count)
        // Ended after the call, as a handle must not be taken away within one.
        while let message = curl.functions.pointee.multi_info_read(multi, &count)?.pointee {
            guard message.msg == CURLMSG_DONE, let easy = message.easy_handle, let ended = end(easy) else { continue }
            finish(ended, message.data.result)
        }
        defer { answers = [] }
        return answers
    }

    /// Waits until there is something to do, or something to be read from `descriptor`.
    func wait(for descriptor: Int32) {
        var other = curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        _ = curl.functions.pointee.multi_poll(multi, &other, 1, Int32.max, nil)
    }

    private func run(_ transfer: Underway) throws(HTTPFailure) {
        let easy = transfer.transfer.handle.easy
        guard curl.functions.pointee.multi_add_handle(multi, easy) == CURLM_OK else {
            throw HTTPFailure(reason: "out of memory", isLocal: true)
        }
        underway[easy] = transfer
    }

    private func end(_ easy: UnsafeMutableRawPointer) -> Underway? {
        guard let ended = underway.removeValue(forKey: easy) else { return nil }
        _ = curl.functions.pointee.multi_remove_handle(multi, easy)
        return ended
    }

    private func finish(_ ended: Underway, _ code: CURLcode) {
        if let refused = ended.refused {
            return refuse(ended.number, refused.transfer, refused.problem, ended.transfer.handle.certificates)
        }
        let transfer = ended.transfer
        guard let problem = transfer.certificateProblem(code) else {
            return answer(ended.number, transfer.outcome(code))
        }
        // libcurl does not give the certificates after a handshake that failed, so there is a second one, if there is time for it.
        let rest = transfer.request.timeout - transfer.handle.duration
        guard problem.isInCertificate, rest > .milliseconds(10),
            let look = try? HTTPTransfer(inspecting: transfer, timeout: rest),
            (try? run(Underway(number: ended.number, transfer: look, refused: (transfer, problem)))) != nil
        else { return refuse(ended.number, transfer, problem, []) }
    }

    private func refuse(
        _ number: Int, _ transfer: HTTPTransfer, _ problem: CertificateProblem, _ certificates: [Certificate]
    ) {
        answer(number, .unexpected(reason: problem.reason(for: transfer.lastHost, certificates)))
    }

    private func answer(_ number: Int, _ outcome: HTTPOutcome) {
        answers.append(HTTPAnswer(number: number, outcome: outcome))
    }
}
