// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusWorkers

/// The level of a valid certificate, which depends on the time until it expires.
struct ExpiryJudgement: Equatable {
    let level: Level
    /// The certificate, if it is not the server's own: `certificate of the issuer R11`.
    let issuer: String?
    /// The time left in whole days, and the date: `expires in 23 days (2026-12-20)`.
    ///
    /// It changes once a day, so that a status does not change more often.
    let text: String
    let value: MeasuredValue

    init(_ life: CertificateLife, expires: Duration, now: Timestamp) {
        let left = Duration.seconds(life.end) - .milliseconds(now.milliseconds)
        let limits = ExpiryLimits(expires, life: .seconds(life.end - life.start))
        level = left < limits.critical ? .critical : left < limits.warning ? .warning : .ok
        issuer = life.issuer.map { "certificate of the issuer \(VisibleText.excerpt($0, bytes: 60))" }
        let end = Timestamp(milliseconds: Int64(life.end) * 1000)
        let days = left.components.seconds / 86_400
        text =
            switch days {
            // The time of day matters now, and stays true.
            case ...0: "expires in less than 1 day (\(end.text()))"
            case 1: "expires in 1 day (\(end.date))"
            default: "expires in \(days) days (\(end.date))"
            }
        value = MeasuredValue(
            "expires", (left / .seconds(1)).rounded(), "s", warning: (limits.warning / .seconds(1)).rounded(),
            critical: (limits.critical / .seconds(1)).rounded())
    }

    /// Returns a result whose text changes with each day that is left, and not with the latency.
    func result(_ text: String, _ latency: Latency) -> CheckResult {
        CheckResult(level, text, unshown: [value, latency.value])
    }
}

extension Timestamp {
    /// The date in UTC: `2026-12-20`.
    fileprivate var date: Substring { description.prefix(10) }
}
