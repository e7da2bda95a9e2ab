// SPDX-License-Identifier: Apache-2.0

public import Varlink

public enum HTTPOutcome: JSONStructure, Equatable {
    /// The response is as expected: its status code, the duration of the request, and the certificate that expires
    /// first, if it was requested.
    ///
    /// A handshake without a request has the status code 0.
    case expected(statusCode: Int, duration: Duration, certificate: CertificateLife? = nil)
    /// There is no response, or an unexpected one, for this reason.
    ///
    /// It is a short phrase in lower case, without a full stop.
    case unexpected(reason: String)
    /// The request could not be made because this host lacks a resource; the state of the server is unknown.
    case notMade(reason: String)

    /// Returns the outcome with the address that redirects led to in its reason, if there are both.
    func after(_ redirect: String?) -> HTTPOutcome {
        guard let redirect, case .unexpected(let reason) = self else { return self }
        return .unexpected(reason: "after a redirect to \(redirect): \(reason)")
    }

    /// Returns the outcome with a certificate, if it is as expected.
    func with(_ certificate: CertificateLife?) -> HTTPOutcome {
        guard case .expected(let statusCode, let duration, _) = self else { return self }
        return .expected(statusCode: statusCode, duration: duration, certificate: certificate)
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var (outcome, statusCode, duration): (HTTPOutcome?, Int?, Duration) = (nil, nil, .zero)
        var certificate: CertificateLife?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "statusCode": statusCode = try Int(from: &reader)
            case "duration": duration = .microseconds(try Int(from: &reader))
            case "certificate": certificate = try CertificateLife(from: &reader)
            case "unexpected": outcome = .unexpected(reason: try String(from: &reader))
            case "notMade": outcome = .notMade(reason: try String(from: &reader))
            default: throw .unknownMember(name)
            }
        }
        if let outcome {
            self = outcome
        } else if let statusCode {
            self = .expected(statusCode: statusCode, duration: duration, certificate: certificate)
        } else {
            throw .missingMember("statusCode")
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .expected(let statusCode, let duration, let certificate):
            writer.member("statusCode", statusCode)
            writer.member("duration", Int(duration / .microseconds(1)))
            writer.member("certificate", certificate)
        case .unexpected(let reason): writer.member("unexpected", reason)
        case .notMade(let reason): writer.member("notMade", reason)
        }
    }
}
