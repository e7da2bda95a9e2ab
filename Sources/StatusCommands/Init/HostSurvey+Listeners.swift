// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension HostSurvey {
    /// A service of this host that answers with TLS, and whose certificate can be verified.
    struct SecureService: Equatable {
        /// The address and port.
        var address: String
        /// A name for which the certificate is valid.
        var name: String
    }

    /// The ports of protocols that begin with TLS: HTTPS, SMTP, LDAP, DNS, FTP, IMAP, POP3, AMQP, Kubernetes and MQTT.
    private static let securePorts: Set<UInt16> = [
        443, 465, 636, 853, 990, 993, 995, 5671, 6443, 8443, 8883, 9443,
    ]

    /// Reads the TCP sockets of this host and asks those that listen at ports for TLS for their certificates.
    ///
    /// A certificate that cannot be verified, such as a self-signed one, is left out: its server would never be ok.
    ///
    /// - Parameters:
    ///   - sockets: the texts of `/proc/net/tcp` and `/proc/net/tcp6` (proc(5)).
    ///   - certificate: what openssl(1) writes of the certificate at an address.
    mutating func readListeners(_ sockets: [String], certificate: (String) -> String) {
        var unverified: [String] = []
        for address in sockets.flatMap(Self.secureAddresses).uniqued() {
            let told = certificate(address)
            // Nothing is told if no TLS server answers.
            if told.isEmpty { continue }
            if let name = Self.name(in: told) {
                secureServices.append(SecureService(address: address, name: name))
            } else {
                unverified.append(address)
            }
        }
        omit("TLS services whose certificates are not trusted", unverified)
    }

    /// The addresses and ports of sockets that listen for TLS; where this host listens for all, that of itself.
    private static func secureAddresses(_ table: String) -> [String] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: " ")
            let listens = "0A"
            guard fields.count > 3, fields[3] == listens else { return nil }
            let parts = fields[1].split(separator: ":")
            guard parts.count == 2, let port = UInt16(parts[1], radix: 16), securePorts.contains(port) else {
                return nil
            }
            return address(parts[0]).map { "\($0):\(port)" }
        }
    }

    /// An address that the kernel shows as numbers of 32 bits in the order of this machine's bytes.
    ///
    /// Of IPv6 only the addresses of this host for itself are read; others have names anyway.
    private static func address(_ text: Substring) -> String? {
        if text.count == 32 {
            let number = text.dropLast(8)
            guard number.allSatisfy({ $0 == "0" }) else { return nil }
            return text.hasSuffix("01000000") ? "[::1]" : text.hasSuffix("00000000") ? "127.0.0.1" : nil
        }
        guard let number = UInt32(text, radix: 16) else { return nil }
        if number == 0 { return "127.0.0.1" }
        return withUnsafeBytes(of: number) { bytes in bytes.map { String($0) }.joined(separator: ".") }
    }

    /// The first name of a verified certificate; nil for one that is not trusted.
    private static func name(in certificate: String) -> String? {
        let words = certificate.split { " ,\n".contains($0) }
        guard let code = words.firstIndex(of: "code:"), words.dropFirst(code + 1).first == "0" else { return nil }
        let names = words.filter { $0.hasPrefix("DNS:") }.map { $0.dropFirst(4) }.filter { name in
            !name.isEmpty
                && name.utf8.allSatisfy { byte in
                    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                        || ".-*".utf8.contains(byte)
                }
        }
        // A pattern is valid for any name with one more part.
        return names.first { !$0.contains("*") }.map { String($0) }
            ?? names.first { $0.hasPrefix("*.") }.map { "www" + $0.dropFirst() }
    }
}

extension Sequence where Element: Hashable {
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
