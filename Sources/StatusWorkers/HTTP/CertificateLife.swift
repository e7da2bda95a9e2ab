// SPDX-License-Identifier: Apache-2.0

import StatusModel
public import Varlink

/// The life of the certificate that expires first, of those that a server has sent.
public struct CertificateLife: JSONStructure, Sendable, Equatable {
    /// The first and the last moment at which the certificate is valid, in seconds since 1970.
    public var start: Int
    public var end: Int
    /// The name of the issuer whose certificate it is; nil for the server's own.
    public var issuer: String?

    public init(start: Int, end: Int, issuer: String? = nil) {
        (self.start, self.end, self.issuer) = (start, end, issuer)
    }

    /// Finds the certificate that expires first; nil if the server's own cannot be read.
    ///
    /// The chain is valid at this time. So an expired certificate of an issuer is not part of it, and neither is a
    /// self-signed one, in whose place the host has its own.
    ///
    /// - Parameters:
    ///   - chain: the certificates that the server sent, its own first.
    ///   - now: the current time, in seconds since 1970.
    init?(_ chain: [Certificate], now: Int) {
        guard let own = chain.first, let start = own.start, let end = own.expiry else { return nil }
        self.init(start: start, end: end)
        for issuer in chain.dropFirst() where !issuer.isSelfSigned {
            guard let start = issuer.start, let end = issuer.expiry, end >= now, end < self.end else { continue }
            self.init(start: start, end: end, issuer: VisibleText.excerpt(issuer.commonName ?? "", bytes: 100))
        }
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(start: 0, end: 0)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "start": start = try Int(from: &reader)
            case "end": end = try Int(from: &reader)
            case "issuer": issuer = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("start", start)
        writer.member("end", end)
        writer.member("issuer", issuer)
    }
}
