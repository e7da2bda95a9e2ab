// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// How this host proves to a broker who it is, and how the broker does.
///
/// The files are credentials of the service (`LoadCredential=`), whose names begin with `mqtt.`.
struct MQTTLogin: Sendable {
    var user: String?
    var password: String?
    /// PEM files; without authorities, those of the host are trusted.
    var authorities: String?
    var certificate: String?
    var key: String?

    /// What is wrong with the credentials.
    struct Invalid: Error, CustomStringConvertible { let description: String }

    static let hostAuthorities = "/etc/ssl/certs"
    private static let longestPassword = 65_535

    /// Finds the credentials.
    ///
    /// - Parameter directory: `CREDENTIALS_DIRECTORY`.
    static func read(user: String?, directory: String?) throws(Invalid) -> MQTTLogin {
        var login = MQTTLogin(user: user)
        guard let directory else { return login }
        guard access(directory, F_OK) == 0 else {
            throw Invalid(description: "CREDENTIALS_DIRECTORY is not there: \(String(cString: strerror(errno)))")
        }
        func path(_ name: String) throws(Invalid) -> String? {
            let path = "\(directory)/mqtt.\(name)"
            guard access(path, F_OK) == 0 else { return nil }
            guard access(path, R_OK) == 0 else {
                throw Invalid(
                    description: "cannot read the credential mqtt.\(name): \(String(cString: strerror(errno)))")
            }
            return path
        }
        login.authorities = try path("ca")
        login.certificate = try path("certificate")
        login.key = try path("key")
        guard (login.certificate == nil) == (login.key == nil) else {
            let (found, missing) = login.key == nil ? ("certificate", "key") : ("key", "certificate")
            throw Invalid(description: "the credential mqtt.\(found) also needs mqtt.\(missing)")
        }
        try check(login.authorities, "ca", for: "CERTIFICATE-----", "certificates")
        try check(login.certificate, "certificate", for: "CERTIFICATE-----", "a certificate")
        try check(login.key, "key", for: "PRIVATE KEY-----", "a key")
        guard let file = try path("password") else { return login }
        login.password = try text(of: file)
        if user == nil { throw Invalid(description: "the credential mqtt.password needs “user” below “mqtt”") }
        return login
    }

    /// Throws if a file is none in PEM format, as far as one can see.
    private static func check(
        _ path: String?, _ name: String, for ending: String, _ content: String
    ) throws(Invalid) {
        guard let path, let file = fopen(path, "re") else { return }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1024)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 >= 0x20 }.map { UInt8($0) }, as: UTF8.self)
            if text.hasPrefix("-----BEGIN "), text.hasSuffix(ending) { return }
        }
        throw Invalid(description: "the credential mqtt.\(name) must have \(content) in PEM format")
    }

    /// The first line of a file: editors end it with a line feed, which is no part of the password.
    private static func text(of path: String) throws(Invalid) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Invalid(description: "cannot read the credential mqtt.password: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: longestPassword + 1)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        var text = bytes.prefix(max(0, count))
        while text.last == UInt8(ascii: "\n") || text.last == UInt8(ascii: "\r") { text.removeLast() }
        guard !text.isEmpty, text.count < longestPassword, !text.contains(where: { $0 < 0x20 }),
            let password = String(validating: text, as: UTF8.self)
        else {
            throw Invalid(description: "the credential mqtt.password must be one line of text")
        }
        return password
    }
}
