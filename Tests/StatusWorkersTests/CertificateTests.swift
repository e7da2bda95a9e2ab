// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusWorkers

@Suite("Problems with certificates") struct CertificateTests {
    /// 2026-11-21 08:00:00 UTC.
    private let now = 1_795_248_000

    private func certificate(_ names: String, until date: String) -> Certificate {
        Certificate(["Subject:CN = old.example", "X509v3 Subject Alternative Name:\(names)", "Expire date:\(date) GMT"])
    }

    @Test("the names are the alternative names, or the common name if there are none")
    func names() {
        #expect(
            certificate("DNS:a.example, IP Address:127.0.0.1", until: "Nov 18 08:00:00 2026").names == [
                "a.example", "127.0.0.1",
            ])
        #expect(Certificate(["Subject:C = DE, CN = old.example"]).names == ["old.example"])
        #expect(Certificate(["nonsense", "Subject:"]).names == [])
    }

    @Test("the time of the expiry is in UTC, so that the text does not change")
    func expiryTime() {
        let reason = CertificateProblem.expired.reason(
            for: "a.example", [certificate("DNS:a.example", until: "Nov 18 07:59:59 2026")], now: now)
        #expect(reason == "certificate expired 2026-11-18 07:59 UTC")
    }

    @Test("the expired certificate may be an issuer's, or unknown")
    func issuer() {
        let good = certificate("DNS:a.example", until: "Nov 18 08:00:00 2027")
        let bad = certificate("DNS:b.example", until: "Nov 18 08:00:00 2026")
        #expect(
            CertificateProblem.expired.reason(for: "a.example", [good, bad], now: now)
                == "an issuer's certificate expired 2026-11-18 08:00 UTC")
        #expect(CertificateProblem.expired.reason(for: "a.example", [], now: now) == "certificate expired")
    }

    @Test("a name that the server made long is cut, so that the answer of the worker is not too long")
    func longName() {
        let long = certificate("DNS:" + String(repeating: "\u{1}", count: 60_000), until: "Nov 18 08:00:00 2027")
        let reason = CertificateProblem.wrongName.reason(for: "a.example", [long], now: now)
        #expect(reason.utf8.count < 1000)
        #expect(reason.hasPrefix("certificate is for "))
    }

    @Test("a wrong name is reported with the right one")
    func wrongName() {
        let one = certificate("DNS:a.example", until: "Nov 18 08:00:00 2027")
        let two = certificate("DNS:a.example, DNS:b.example", until: "Nov 18 08:00:00 2027")
        #expect(
            CertificateProblem.wrongName.reason(for: "c.example", [one])
                == "certificate is for a.example, not for c.example")
        #expect(
            CertificateProblem.wrongName.reason(for: "c.example", [two])
                == "certificate is for a.example and 1 more, not for c.example")
        #expect(CertificateProblem.wrongName.reason(for: "c.example", []) == "certificate is not for c.example")
    }

    private func life(_ subject: String, by issuer: String, from start: String, until end: String) -> Certificate {
        Certificate([
            "Subject:CN = \(subject)", "Issuer:CN = \(issuer)", "Start date:\(start) GMT", "Expire date:\(end) GMT",
        ])
    }

    @Test("the certificate that expires first counts, except for expired and self-signed ones of issuers")
    func first() {
        let (year, now) = ("Nov 18 08:00:00 2027", now)
        let own = life("a.example", by: "R1", from: "Nov 18 08:00:00 2025", until: year)
        let start = own.start ?? 0
        #expect(CertificateLife([own], now: now) == CertificateLife(start: start, end: own.expiry ?? 0))
        let later = life("R1", by: "Root", from: "Nov 18 08:00:00 2020", until: "Nov 18 08:00:00 2028")
        let sooner = life("R1", by: "Root", from: "Nov 18 08:00:00 2020", until: "Dec  1 08:00:00 2026")
        let expired = life("Root", by: "Old", from: "Nov 18 08:00:00 2020", until: "Nov 18 08:00:00 2026")
        let root = life("Root", by: "Root", from: "Nov 18 08:00:00 2020", until: "Dec  1 08:00:00 2026")
        #expect(CertificateLife([own, later, expired, root], now: now)?.issuer == nil)
        let found = CertificateLife([own, sooner, expired, root], now: now)
        #expect(found?.issuer == "R1")
        #expect(found?.end == sooner.expiry)
        #expect(found?.start == sooner.start)
    }

    @Test("a self-signed certificate of the server counts; one without dates, and no certificate, do not")
    func own() {
        let own = life("a", by: "a", from: "Nov 18 08:00:00 2025", until: "Nov 18 08:00:00 2027")
        #expect(CertificateLife([own], now: now)?.end == own.expiry)
        #expect(CertificateLife([], now: now) == nil)
        #expect(CertificateLife([certificate("DNS:a.example", until: "nonsense")], now: now) == nil)
        #expect(CertificateLife([own, certificate("DNS:a.example", until: "nonsense")], now: now)?.issuer == nil)
    }

    @Test("OpenSSL's numbers are interpreted as in x509_vfy.h")
    func numbers() {
        #expect(CertificateProblem(openSSL: 10, text: "") == .expired)
        #expect(CertificateProblem(openSSL: 9, text: "") == .notYetValid)
        #expect(CertificateProblem(openSSL: 18, text: "") == .selfSigned)
        #expect(CertificateProblem(openSSL: 62, text: "") == .wrongName)
        #expect(CertificateProblem(openSSL: 20, text: "no issuer") == .untrusted("no issuer"))
    }
}
