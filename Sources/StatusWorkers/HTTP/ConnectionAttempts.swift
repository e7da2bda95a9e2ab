// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// The addresses of one host for which libcurl requested sockets.
struct ConnectionAttempts {
    /// The number of redirects that led to the host.
    let redirects: Int
    /// The addresses that got a socket.
    private(set) var addresses: [InternetAddress] = []
    /// The error of an address that got none; 0 for none.
    private(set) var error: Int32 = 0
    /// The error of a socket for which descriptors or memory had run out.
    private(set) var shortage: Int32?

    init(redirects: Int) { self.redirects = redirects }

    /// Adds an address, with the error of its socket; 0 for none.
    mutating func add(_ address: InternetAddress, error: Int32) {
        guard error != 0 else { return addresses.append(address) }
        self.error = error
        if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(error) { shortage = error }
    }
}
