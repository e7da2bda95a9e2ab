// SPDX-License-Identifier: Apache-2.0

import CCurl
import EventLoopIO
import Glibc

/// An easy handle of libcurl: the options of one transfer, and its results.
///
/// It must be removed from its multi handle before this object is released.
final class CurlHandle {
    let curl: CurlLibrary
    let easy: UnsafeMutableRawPointer
    /// Whether libcurl has accepted every option so far.
    private(set) var isComplete = true
    private let errorText: UnsafeMutablePointer<CChar>
    /// The lists passed to libcurl, which does not copy them.
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    init(_ curl: CurlLibrary) throws(HTTPFailure) {
        guard let easy = curl.functions.pointee.easy_init() else {
            throw HTTPFailure(reason: "out of memory", isLocal: true)
        }
        self.curl = curl
        self.easy = easy
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        check(statusd_curl_set_pointer(curl.functions, easy, CURLOPT_ERRORBUFFER, errorText))
    }

    deinit {
        curl.functions.pointee.easy_cleanup(easy)
        for list in lists { curl.functions.pointee.slist_free_all(list) }
        errorText.deallocate()
    }

    // MARK: Options

    func set(_ option: CURLoption, _ value: Int) { check(statusd_curl_set_long(curl.functions, easy, option, value)) }

    /// Sets a text; nil removes libcurl's default.
    func set(_ option: CURLoption, _ text: String?) {
        if let text {
            check(statusd_curl_set_pointer(curl.functions, easy, option, text))
        } else {
            check(statusd_curl_set_pointer(curl.functions, easy, option, nil))
        }
    }

    func set(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl.functions.pointee.slist_append(list, line) else {
                isComplete = false
                break
            }
            list = longer
        }
        guard let list else { return }
        lists.append(list)
        check(statusd_curl_set_pointer(curl.functions, easy, option, list))
    }

    /// Sets the callbacks for sockets, header and body; does not retain the transfer.
    func setCallbacks(for transfer: HTTPTransfer) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        check(statusd_curl_set_opener(curl.functions, easy, openCallback, context))
        check(statusd_curl_set_writer(curl.functions, easy, writeCallback, context))
        check(statusd_curl_set_header_reader(curl.functions, easy, headerCallback, context))
    }

    private func check(_ code: CURLcode) { if code != CURLE_OK { isComplete = false } }

    // MARK: Results

    func text(of code: CURLcode) -> String {
        let text = String(cString: errorText)
        return text.isEmpty ? curl.text(of: code) : text
    }

    /// Returns a number; 0 if there is none.
    func number(_ info: CURLINFO) -> Int { statusd_curl_get_long(curl.functions, easy, info) }

    /// Returns a text; empty if there is none.
    func string(_ info: CURLINFO) -> String {
        statusd_curl_get_string(curl.functions, easy, info).map { String(cString: $0) } ?? ""
    }

    /// Returns the values of a field in the header of the last response.
    func values(of field: String) -> [String] {
        var values: [String] = []
        var header: UnsafeMutablePointer<curl_header>?
        while curl.functions.pointee.easy_header(easy, field, values.count, UInt32(CURLH_HEADER), -1, &header)
            == CURLHE_OK, let value = header?.pointee.value
        {
            values.append(String(cString: value))
        }
        return values
    }

    /// The certificates that the server sent, its own first; only with `CURLOPT_CERTINFO`.
    var certificates: [Certificate] {
        guard let list = statusd_curl_get_certificates(curl.functions, easy)?.pointee, let first = list.certinfo else {
            return []
        }
        return UnsafeBufferPointer(start: first, count: Int(list.num_of_certs)).map { Certificate($0) }
    }
}

// MARK: The functions that libcurl calls

/// Receives bytes of a body; a result other than their number ends the transfer.
func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    transfer(context)?.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

/// Receives a line of the header or trailer; a result other than its length ends the transfer.
func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    transfer(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

/// Opens a socket as libcurl would, if this host can reach its address, and records the address and a possible error.
func openCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = transfer(context), let address else { return CURL_SOCKET_BAD }
    // The address may be longer than the member of the struct.
    let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
    let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + offset, count: Int(address.pointee.addrlen))
    let target = InternetAddress(copying: bytes)
    // libcurl reports the last error, which would hide that of an address that this host can reach.
    if address.pointee.family != AF_UNIX, let error = target.sourceError {
        transfer.noteSocket(to: target, error: error)
        return CURL_SOCKET_BAD
    }
    let descriptor = socket(
        address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    transfer.noteSocket(to: target, error: descriptor < 0 ? errno : 0)
    return descriptor
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    context.map { Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
}
