// SPDX-License-Identifier: Apache-2.0
// What libcurl calls, on the loop's thread and from within a call into it. In a file of their own and nonisolated: see LoopCallbacks.

import CCurl
import Glibc
import Systemd

/// Takes bytes of a body; anything but their number ends the transfer.
func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    // Used in this call only, which the loop's thread makes.
    nonisolated(unsafe) let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return EventLoop.assumeIsolated { transfer.receive(chunk) }
}

/// Takes a line of the header, or of the trailer behind a body; anything but its length ends the transfer.
func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    return EventLoop.assumeIsolated { transfer.receiveHeader(of: size * count) }
}

/// Opens a socket, which libcurl itself would leave open in the programs that this process starts.
func openCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address = address?.pointee else { return CURL_SOCKET_BAD }
    let transfer = Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
    if descriptor < 0 {
        let number = errno
        EventLoop.assumeIsolated { transfer.socketError = number }
    }
    return descriptor
}

/// Is told what to wait for on a socket.
func socketCallback(
    _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32, _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    let client = Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue()
    EventLoop.assumeIsolated { client.watch(socket, for: what) }
    return 0
}

/// Is told when libcurl wants to be called at the latest, in milliseconds; -1 for never.
func timerCallback(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    let client = Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue()
    EventLoop.assumeIsolated { client.schedule(milliseconds) }
    return 0
}
