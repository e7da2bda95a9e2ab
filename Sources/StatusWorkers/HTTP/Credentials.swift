// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel

/// Reads credentials of the daemon's service, which this process inherits.
enum Credentials {
    /// The maximum length of a credential in bytes.
    private static let maximumBytes = 16 << 10

    /// Returns header fields, each as `Name: value`; no error contains a value.
    static func fields(_ fields: [CredentialField]) throws(HTTPFailure) -> [String] {
        var lines: [String] = []
        for field in fields { lines.append("\(field.field): \(try value(field.name))") }
        return lines
    }

    private static func value(_ name: String) throws(HTTPFailure) -> String {
        guard let folder = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }),
            access("\(folder)/\(name)", F_OK) == 0
        else {
            throw failure(
                "no credential “\(name)”; add LoadCredential=\(name):/path by “systemctl edit statusd”, and restart it")
        }
        guard let file = fopen("\(folder)/\(name)", "re") else {
            throw failure("cannot read the credential “\(name)”: \(String(cString: strerror(errno)).asPhrase)")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        var value = bytes.prefix(count)
        while value.last == UInt8(ascii: "\n") || value.last == UInt8(ascii: "\r") { value.removeLast() }
        guard count <= maximumBytes, !value.isEmpty, value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw failure("the credential “\(name)” must be one line of text, of at most \(maximumBytes / 1024) KiB")
        }
        return String(decoding: value, as: UTF8.self)
    }

    private static func failure(_ reason: String) -> HTTPFailure { HTTPFailure(reason: reason, isLocal: true) }
}
