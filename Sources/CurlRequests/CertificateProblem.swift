// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc

/// What is wrong with a server's certificate.
enum CertificateProblem: Equatable {
    case expired, notYetValid, selfSigned, wrongName
    /// Anything else, in the TLS library's words.
    case untrusted(String)

    /// Whether a look at the certificate tells more.
    var isInCertificate: Bool { self == .expired || self == .wrongName }

    /// What OpenSSL's number (`X509_V_ERR_…`) means.
    ///
    /// - Parameters:
    ///   - result: the number; 1, which libcurl begins with, or 0 where OpenSSL has found nothing: then it was the name, which
    ///     libcurl compares itself, before it asks for the number.
    ///   - text: what to say where the number is none of these.
    init(openSSL result: Int, text: String) {
        switch result {
        case 0, 1, 62, 64: self = .wrongName
        case 9: self = .notYetValid
        case 10: self = .expired
        case 18: self = .selfSigned
        default: self = .untrusted(text)
        }
    }

    /// What GnuTLS's set of flags (`GNUTLS_CERT_…`) means.
    init(gnuTLS result: Int) {
        if result == 0 || result & 1 << 14 != 0 {
            self = .wrongName
        } else if result & 1 << 10 != 0 {
            self = .expired
        } else if result & 1 << 9 != 0 {
            self = .notYetValid
        } else {
            self = .untrusted(result & 1 << 6 != 0 ? "unknown issuer" : "not valid")
        }
    }

    /// A phrase for it.
    ///
    /// - Parameters:
    ///   - host: who was asked.
    ///   - certificates: what it showed, its own certificate first; may be empty.
    ///   - now: the time, in seconds since 1970.
    func reason(for host: String, _ certificates: [Certificate], now: Int = time(nil)) -> String {
        switch self {
        case .expired: Self.expiry(certificates, now)
        case .notYetValid: "certificate is not yet valid"
        case .selfSigned: "certificate is self-signed"
        case .wrongName: Self.names(certificates, host)
        case .untrusted(let text): "certificate is not trusted: \(text)"
        }
    }

    private static func expiry(_ certificates: [Certificate], _ now: Int) -> String {
        // It need not be the server's own: all certificates up to the authority's have to be valid.
        let expired = certificates.firstIndex { ($0.expiry ?? now) < now }
        guard let expired, let expiry = certificates[expired].expiry else { return "certificate expired" }
        return "\(expired == 0 ? "certificate" : "an issuer's certificate") expired \(age(now - expiry)) ago"
    }

    private static func names(_ certificates: [Certificate], _ host: String) -> String {
        guard let names = certificates.first?.names, let first = names.first else {
            return "certificate is not for \(host)"
        }
        let others = names.count == 1 ? "" : " and \(names.count - 1) more"
        return "certificate is for \(first)\(others), not for \(host)"
    }

    /// A time in its largest unit, rounded down: `3 days`.
    private static func age(_ seconds: Int) -> String {
        for (unit, length) in [("day", 86_400), ("hour", 3600), ("minute", 60)] where seconds >= length {
            return "\(seconds / length) \(unit)\(seconds / length == 1 ? "" : "s")"
        }
        return "\(seconds) second\(seconds == 1 ? "" : "s")"
    }
}
