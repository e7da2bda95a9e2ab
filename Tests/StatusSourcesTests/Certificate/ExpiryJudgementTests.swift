// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusWorkers
import Testing

@testable import StatusSources

@Suite("Certificates that expire") struct ExpiryJudgementTests {
    /// 2026-11-21 08:00:00 UTC.
    private static let now = 1_795_248_000
    private static let day = 86_400

    private static let levelsCases: [(Int, Level)] = [
        (14 * day, Level.ok), (14 * day - 1, .warning), (2 * day, .warning), (2 * day - 1, .critical),
        (-1, .critical),
    ]

    private static let shortLivesCases: [(Int, Int, Level)] = [
        (6 * day, 2 * day, Level.ok), (6 * day, 2 * day - 1, .warning), (6 * day, 51_840, .warning),
        (6 * day, 51_839, .critical), (30 * day, 13 * day, .warning), (30 * day - 1, 13 * day, .ok),
    ]

    private static let textsCases: [(Int, String)] = [
        (29 * day, "expires in 29 days (2026-12-20)"), (29 * day - 1, "expires in 28 days (2026-12-20)"),
        (2 * day - 1, "expires in 1 day (2026-11-23)"), (day, "expires in 1 day (2026-11-22)"),
        (day - 1, "expires in less than 1 day (2026-11-22 07:59 UTC)"),
        (-5, "expires in less than 1 day (2026-11-21 07:59 UTC)"),
    ]

    private func judge(
        left: Int, life: Int = 90 * day, expires: Duration = ExpiryLimits.defaultWarning, issuer: String? = nil
    ) -> ExpiryJudgement {
        let end = Self.now + left
        return ExpiryJudgement(
            CertificateLife(start: end - life, end: end, issuer: issuer), expires: expires,
            now: Timestamp(milliseconds: Int64(Self.now) * 1000))
    }

    @Test(
        "fourteen days before the expiry the level is warning, and two days before it critical",
        arguments: levelsCases)
    func levels(_ left: Int, _ level: Level) {
        #expect(judge(left: left).level == level)
    }

    @Test(
        "the limits of a certificate that lives shorter than thirty days are a third and a tenth of its life",
        arguments: shortLivesCases)
    func shortLives(_ life: Int, _ left: Int, _ level: Level) {
        #expect(judge(left: left, life: life).level == level)
    }

    @Test("a shorter configured time also counts for short lives")
    func configured() {
        #expect(judge(left: Self.day, life: 6 * Self.day, expires: .seconds(7 * 3600)).level == .ok)
        #expect(judge(left: 6 * 3600, life: 6 * Self.day, expires: .seconds(7 * 3600)).level == .warning)
        #expect(judge(left: 40 * Self.day, expires: .seconds(60 * Self.day)).level == .warning)
        #expect(judge(left: 8 * Self.day, expires: .seconds(60 * Self.day)).level == .critical)
    }

    @Test(
        "the text has the whole days that are left and the date, and on the last day the time",
        arguments: textsCases)
    func texts(_ left: Int, _ text: String) {
        #expect(judge(left: left).text == text)
    }

    @Test("the text changes when a day has passed, although the number is near, and not before")
    func daily() {
        func result(_ left: Int) -> CheckResult {
            let judgement = judge(left: left)
            return judgement.result(judgement.text, Latency(.milliseconds(left % 7)))
        }
        let noon = result(60 * Self.day + 40_000)
        let evening = result(60 * Self.day + 10)
        let morning = result(60 * Self.day - 10)
        #expect(noon.fullText == evening.fullText)
        #expect(evening.fullText != morning.fullText)
        #expect(!morning.isNear(evening))
        #expect(noon.unshown.map(\.name) == ["expires", "time"])
        #expect(noon.unshown[0].value == Double(60 * Self.day + 40_000))
        #expect(noon.unshown[0].warning == Double(14 * Self.day))
        #expect(noon.unshown[0].critical == Double(2 * Self.day))
    }

    @Test("an issuer is named, safe to show")
    func issuers() {
        #expect(judge(left: 0, issuer: "R11").issuer == "certificate of the issuer R11")
        #expect(judge(left: 0).issuer == nil)
        #expect(
            judge(left: 0, issuer: "\u{9B}31m\n" + String(repeating: "x", count: 1000)).issuer?.utf8.count ?? 0 < 100)
    }
}
