// SPDX-License-Identifier: Apache-2.0

import Glibc
public import SourceKinds
import StatusModel

extension DNSReply {
    /// Compares the reply with what is expected.
    public func outcome(of settings: DNSSettings, after duration: Duration) -> DNSOutcome {
        if let reason = problem(of: settings) ?? difference(from: settings) {
            return .unexpected(reason: Self.fitting(reason))
        }
        return .expected(text: Self.fitting(Self.list(answers)), lifetime: lifetime, duration: duration)
    }

    /// The answers that are missing or not expected; nil if all are as expected.
    private func difference(from settings: DNSSettings) -> String? {
        func forms(_ texts: [String]) -> [String: String] {
            Dictionary(texts.map { (settings.type.comparable($0), $0) }) { first, _ in first }
        }
        let (found, expected) = (forms(answers), forms(settings.expected))
        if expected.isEmpty || Set(expected.keys) == Set(found.keys) { return nil }
        let missing = Self.list(expected.filter { found[$0.key] == nil }.map(\.value))
        let extra = Self.list(found.filter { expected[$0.key] == nil }.map(\.value))
        if extra.isEmpty { return "missing \(missing)" }
        return missing.isEmpty ? "unexpected \(extra)" : "\(extra), not \(missing)"
    }

    /// A text of bounded length, which fits into the message to the daemon; quotes for one that is empty or blank.
    private static func fitting(_ text: String) -> String { StatusText(fitting: text)?.rawValue ?? "\"\"" }

    /// The reason why there are no answers; nil if there are some.
    private func problem(of settings: DNSSettings) -> String? {
        let name = settings.name
        switch code {
        case 0: break
        case 1: return "the server cannot read the question (FORMERR)"
        case 2: return "the server failed (SERVFAIL)"
        case 3: return "\(alias.map { "\(name) is an alias of \($0), which" } ?? name) does not exist (NXDOMAIN)"
        case 4: return "the server does not support the question (NOTIMP)"
        case 5: return "the server refuses to answer (REFUSED)"
        default: return "the server reports the error \(code)"
        }
        if !answers.isEmpty { return nil }
        let article = settings.type.rawValue.first.map("AMNS".contains) == true ? "an" : "a"
        let record = "\(article) \(settings.type.rawValue) record"
        if let alias { return "\(name) is an alias of \(alias), for which the answer does not have \(record)" }
        if isReferral { return "the server does not know \(name), and refers to other servers" }
        return "\(name) does not have \(record) (NODATA)"
    }

    private static let maximumShown = 5

    /// Lists answers in an order that does not depend on the server, which may change its own each time.
    private static func list(_ texts: [String]) -> String {
        let sorted = Set(texts).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let shown = sorted.prefix(maximumShown).map(fitting).joined(separator: ", ")
        return sorted.count > maximumShown ? "\(shown) and \(sorted.count - maximumShown) more" : shown
    }
}

extension DNSSettings.RecordType {
    /// The form in which answers of this type are compared.
    fileprivate func comparable(_ text: String) -> String {
        switch self {
        case .a, .aaaa:
            var address = in6_addr()
            let family = self == .a ? AF_INET : AF_INET6
            guard inet_pton(family, text, &address) == 1 else { return text }
            return withUnsafeBytes(of: address) { $0.map { String($0, radix: 16) }.joined(separator: " ") }
        case .txt: return text
        case .cname, .mx, .ns, .ptr, .soa, .srv:
            return text.split(separator: " ").map { String($0).asDNSName }.joined(separator: " ")
        }
    }
}
