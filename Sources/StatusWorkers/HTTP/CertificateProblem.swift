// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import StatusModel

enum CertificateProblem: Equatable {
    case expired, notYetValid, selfSigned, wrongName
    /// Anything else, in the TLS library's words.
    case untrusted(String)

    /// Whether the certificate contains details about the problem.
    var isInCertificate: Bool { self == .expired || self == .wrongName }

    /// Interprets OpenSSL's error number (`X509_V_ERR_…`).
    ///
    /// - Parameters:
    ///   - result: the number. It is 0, or libcurl's initial value 1, if OpenSSL found no problem: then the name is
    ///     wrong, which libcurl checks itself.
    ///   - text: the text for other numbers.
    init(openSSL result: Int, text: String) {
        switch result {
        case 0, 1, 62, 64: self = .wrongName
        case 9: self = .notYetValid
        case 10: self = .expired
        case 18: self = .selfSigned
        default: self = .untrusted(text)
        }
    }

    /// Returns a phrase for the problem.
    ///
    /// - Parameters:
    ///   - certificates: the certificates that the server sent, its own first; may be empty.
    ///   - now: the current time, in seconds since 1970.
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
        // The expired certificate may be an issuer's: the whole chain up to the authority must be valid.
        let expired = certificates.firstIndex { ($0.expiry ?? now) < now }
        guard let expired, let expiry = certificates[expired].expiry else { return "certificate expired" }
        return "\(expired == 0 ? "certificate" : "an issuer's certificate") expired \(Self.text(expiry))"
    }

    /// The time in UTC, which stays true, unlike an age.
    private static func text(_ seconds: Int) -> String {
        let text = Timestamp(milliseconds: Int64(seconds) * 1000).description
        return text.prefix(16).split(separator: "T").joined(separator: " ") + " UTC"
    }

    private static func names(_ certificates: [Certificate], _ host: String) -> String {
        guard let names = certificates.first?.names, let first = names.first else {
            return "certificate is not for \(host)"
        }
        let others = names.count == 1 ? "" : " and \(names.count - 1) more"
        return "certificate is for \(VisibleText.excerpt(first, bytes: 100))\(others), not for \(host)"
    }
}
