// SPDX-License-Identifier: Apache-2.0

import CCurl
import CLinux
import Glibc

/// The parts of a certificate that matter to a check, from libcurl's description (`CURLINFO_CERTINFO`).
struct Certificate: Equatable {
    /// The host names and addresses for which the certificate is valid.
    var names: [String] = []
    /// The first and the last moment at which it is valid, in seconds since 1970.
    var start: Int?
    var expiry: Int?
    /// The name of what it certifies, which is an authority for all certificates but the first of a chain.
    var commonName: String?
    /// Whether subject and issuer are the same.
    var isSelfSigned = false

    /// Reads a list of `Name:value`.
    init(_ list: UnsafeMutablePointer<curl_slist>?) {
        var lines: [String] = []
        var next = list
        while let line = next?.pointee {
            if let data = line.data { lines.append(String(cString: data)) }
            next = line.next
        }
        self.init(lines)
    }

    /// Reads lines of `Name:value`.
    init(_ lines: [String]) {
        var (subject, issuer): (String?, String?)
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = String(line[line.index(after: colon)...])
            switch line[..<colon] {
            case "X509v3 Subject Alternative Name": names = Self.alternativeNames(value)
            case "Subject": subject = value
            case "Issuer": issuer = value
            case "Start date": start = Self.time(value)
            case "Expire date": expiry = Self.time(value)
            default: break
            }
        }
        commonName = subject.flatMap(Self.commonName)
        isSelfSigned = subject != nil && subject == issuer
        // Old certificates have no other name.
        if names.isEmpty, let commonName { names = [commonName] }
    }

    /// The names in `DNS:example.org, IP Address:127.0.0.1`.
    private static func alternativeNames(_ text: String) -> [String] {
        text.split(separator: ",").compactMap { entry in
            let entry = entry.drop { $0 == " " }
            for kind in ["DNS:", "IP Address:"] where entry.hasPrefix(kind) {
                return String(entry.dropFirst(kind.count)).trimmed
            }
            return nil
        }
    }

    /// The name in `C = DE, CN = example.org`.
    private static func commonName(_ text: String) -> String? {
        for entry in text.split(whereSeparator: { $0 == "," || $0 == ";" }) {
            guard let equals = entry.firstIndex(of: "="), String(entry[..<equals]).trimmed == "CN" else { continue }
            return String(entry[entry.index(after: equals)...]).trimmed
        }
        return nil
    }

    /// Reads a time in UTC.
    private static func time(_ text: String) -> Int? {
        var fields = tm()
        return strptime(text, "%b %d %H:%M:%S %Y", &fields) == nil ? nil : timegm(&fields)
    }
}

extension String {
    /// The text without white space around it.
    fileprivate var trimmed: String {
        func isText(_ scalar: Unicode.Scalar) -> Bool { !scalar.properties.isWhitespace }
        guard let first = unicodeScalars.firstIndex(where: isText), let last = unicodeScalars.lastIndex(where: isText)
        else { return "" }
        return String(unicodeScalars[first...last])
    }
}
