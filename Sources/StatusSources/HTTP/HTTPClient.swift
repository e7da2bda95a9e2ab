// SPDX-License-Identifier: Apache-2.0

import CCurl
public import Systemd

/// Makes HTTP requests, any number side by side, on the loop.
///
/// One multi handle of libcurl's for all, with the authorities of one file, which libcurl keeps for the next request. It says which
/// sockets to watch and when it wants to be called (`curl_multi_socket_action(3)`), and nothing runs while there is no request.
@EventLoop
public final class HTTPClient {
    private struct Waiting {
        let transfer: HTTPTransfer
        /// Gets nil where the transfer was stopped.
        let continuation: CheckedContinuation<CURLcode?, Never>
    }

    private let curl: CurlLibrary
    private let userAgent: String
    /// The multi handle, nil once the client is closed.
    private var multi: UnsafeMutableRawPointer?
    private var timer: TimerSource?
    private let authorities = AuthorityFiles()
    private var sockets: [curl_socket_t: IOSource] = [:]
    /// The transfers that the multi handle has, by their easy handles.
    private var running: [UnsafeMutableRawPointer: Waiting] = [:]

    /// A client that calls itself `userAgent`; loads libcurl where that has not been done.
    public init(userAgent: String) throws(HTTPUnavailable) {
        curl = try CurlLibrary.load()
        self.userAgent = userAgent
        guard let multi = curl.functions.pointee.multi_init() else {
            throw HTTPUnavailable(description: "libcurl does not start: out of memory")
        }
        self.multi = multi
        do throws(SystemdError) {
            timer = try TimerSource { [weak self] in self?.act(on: CURL_SOCKET_TIMEOUT, 0) }
        } catch {
            throw HTTPUnavailable(description: "libcurl does not start: \(error)")
        }
        // So that a redirection does not take the connection of another transfer.
        _ = statusd_curl_set_multi_long(curl.functions, multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
        _ = statusd_curl_set_watchers(
            curl.functions, multi, socketCallback, timerCallback, Unmanaged.passUnretained(self).toOpaque())
    }

    isolated deinit { close() }

    /// Stops what is running, whose callers get a `CancellationError`, and closes every connection.
    private func close() {
        guard let multi else { return }
        for waiting in running.values { stop(waiting.transfer) }
        self.multi = nil
        _ = curl.functions.pointee.multi_cleanup(multi)
        for source in sockets.values { source.cancel() }
        sockets = [:]
        timer?.cancel()
    }

    /// Makes a request and returns the answer, whatever its status code.
    ///
    /// Cancelling the task stops the transfer at once.
    ///
    /// - Throws: ``HTTPFailure`` where there is no answer, `CancellationError`.
    func perform(_ request: HTTPRequest) async throws -> HTTPResponse {
        let lifetime = try await authoritiesLifetime(for: request)
        try Task.checkCancellation()
        let transfer = try HTTPTransfer(request, userAgent: userAgent, authoritiesLifetime: lifetime, curl)
        let code = try await finish(transfer)
        if let response = transfer.response(code) { return response }
        guard let problem = transfer.certificateProblem(code) else {
            throw HTTPFailure(reason: transfer.reason(code), isLocal: transfer.isOutOfResources)
        }
        let certificates = problem.isInCertificate ? try await inspect(transfer) : []
        throw HTTPFailure(reason: problem.reason(for: transfer.lastHost, certificates))
    }

    /// For how many seconds libcurl may use the authorities that it has read for a request.
    private func authoritiesLifetime(for request: HTTPRequest) async throws(HTTPFailure) -> Int {
        // Those of a request that is redirected to https are not worth a look at the file each time.
        guard request.isSecure, let file = request.caFile ?? curl.authoritiesFile else { return 60 }
        return try await authorities.read(file, within: request.timeout)
    }

    /// Looks at the certificates that a transfer was refused for, in the time that it has left; none where there is too little.
    ///
    /// libcurl does not give them after a handshake that failed, so there is a second one.
    private func inspect(_ failed: HTTPTransfer) async throws(CancellationError) -> [Certificate] {
        let timeout = failed.request.timeout - failed.handle.duration
        guard timeout > .milliseconds(10), let transfer = try? HTTPTransfer(inspecting: failed, timeout: timeout) else {
            return []
        }
        _ = try await finish(transfer)
        return transfer.handle.certificates
    }

    // MARK: Transfers

    private func finish(_ transfer: HTTPTransfer) async throws(CancellationError) -> CURLcode {
        let code = await withTaskCancellationHandler {
            await withCheckedContinuation { start(transfer, $0) }
        } onCancel: {
            EventLoop.perform { self.stop(transfer) }
        }
        guard let code else { throw CancellationError() }
        return code
    }

    private func start(_ transfer: HTTPTransfer, _ continuation: CheckedContinuation<CURLcode?, Never>) {
        // A task that is cancelled after this stops the transfer.
        guard let multi, !Task.isCancelled else { return continuation.resume(returning: nil) }
        guard curl.functions.pointee.multi_add_handle(multi, transfer.handle.easy) == CURLM_OK else {
            return continuation.resume(returning: CURLE_FAILED_INIT)
        }
        running[transfer.handle.easy] = Waiting(transfer: transfer, continuation: continuation)
    }

    private func stop(_ transfer: HTTPTransfer) { end(transfer.handle.easy, nil) }

    private func end(_ easy: UnsafeMutableRawPointer, _ code: CURLcode?) {
        guard let multi, let waiting = running.removeValue(forKey: easy) else { return }
        _ = curl.functions.pointee.multi_remove_handle(multi, easy)
        waiting.continuation.resume(returning: code)
    }

    // MARK: What libcurl asks for

    /// Watches a socket for what libcurl wants to know of it now.
    ///
    /// With a new source each time: libcurl may have closed the descriptor and got another one of the same number, of which the
    /// kernel's set of watched descriptors knows nothing.
    func watch(_ socket: curl_socket_t, for what: Int32) {
        sockets.removeValue(forKey: socket)?.cancel()
        var events: IOSource.Events = []
        if what == CURL_POLL_IN || what == CURL_POLL_INOUT { events.insert(.readable) }
        if what == CURL_POLL_OUT || what == CURL_POLL_INOUT { events.insert(.writable) }
        guard !events.isEmpty else { return }
        // Where it cannot be watched, the transfer ends when its time is over.
        sockets[socket] = try? IOSource(descriptor: socket, events: events) { [weak self] ready in
            self?.act(on: socket, Self.mask(ready, wanted: events))
        }
    }

    /// Calls libcurl when it wants to be called: by a timer even when that is now, as it must not be called from its own callback.
    func schedule(_ milliseconds: Int) {
        if milliseconds < 0 {
            timer?.stop()
        } else {
            timer?.schedule(after: .milliseconds(milliseconds))
        }
    }

    /// What has happened, in libcurl's terms.
    ///
    /// Not `CURL_CSELECT_ERR`: on that it gives up, while by reading it gets what is left and what went wrong.
    private static func mask(_ ready: IOSource.Events, wanted: IOSource.Events) -> Int32 {
        let isBroken = !ready.isDisjoint(with: [.hangUp, .error])
        let isReadable = ready.contains(.readable) || isBroken && wanted.contains(.readable)
        let isWritable = ready.contains(.writable) || isBroken && wanted.contains(.writable)
        return (isReadable ? CURL_CSELECT_IN : 0) | (isWritable ? CURL_CSELECT_OUT : 0)
    }

    private func act(on socket: curl_socket_t, _ events: Int32) {
        guard let multi else { return }
        var count: Int32 = 0
        _ = curl.functions.pointee.multi_socket_action(multi, socket, events, &count)
        // Ended after the call, as a handle must not be taken away within one.
        while let message = curl.functions.pointee.multi_info_read(multi, &count)?.pointee {
            guard message.msg == CURLMSG_DONE, let easy = message.easy_handle else { continue }
            end(easy, message.data.result)
        }
    }
}
