// SPDX-License-Identifier: Apache-2.0
// The functions that libcurl calls.

import CCurl
import EventLoopIO
import Glibc

/// Takes bytes of a body; any result but their number ends the transfer.
func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    transfer(context)?.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

/// Takes a line of the header or of the trailer; any result but its length ends the transfer.
func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    transfer(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

/// Opens a socket as libcurl would, but notes its address, and the error if it fails.
func openCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = transfer(context), let address else { return CURL_SOCKET_BAD }
    let descriptor = socket(
        address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    // The address may be of any family; the struct has only its beginning.
    let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
    let target = UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + offset, count: Int(address.pointee.addrlen))
    transfer.noteSocket(to: InternetAddress(copying: target), error: descriptor < 0 ? errno : 0)
    return descriptor
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    context.map { Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
}
