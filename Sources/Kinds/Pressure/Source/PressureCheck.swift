// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel

/// `pressure: cpu`: reads how long programs waited for a resource, also as soon as the kernel reports that they do.
struct PressureCheck: Check {
    let settings: PressureSettings
    /// Reports that programs wait; nil if the kernel does not do that for this user.
    let trigger: PressureTrigger?

    var resource: CheckBudget.Resource { .connection }
    var changes: AsyncStream<Void>? { trigger?.changes }

    func run() async throws -> CheckResult {
        guard let pressure = KernelPressure(of: settings.resource) else {
            throw CheckFailure(PressureSettings.advice)
        }
        return settings.judge(pressure, load: settings.resource == .cpu ? KernelLoad.current : nil)
    }
}

extension PressureSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        PressureCheck(settings: self, trigger: PressureTrigger(at: resource.file, threshold: stalled.warning))
    }
}

extension PressureSettings {
    func judge(_ pressure: KernelPressure, load: KernelLoad?) -> CheckResult {
        let average = pressure.average(over: over)
        var values = [
            MeasuredValue("some", average, "%", warning: stalled.warning, critical: stalled.critical)
        ]
        let seconds = over.components.seconds
        let period = seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min"
        var text = "\(resource.rawValue) \(values[0].text) stalled over \(period)"
        if let load {
            let load = load.perProcessor(over: max(over, LoadSettings.periods[0]))
            values.append(MeasuredValue("load", load))
            text += "; \(KernelLoad.text(load))"
        }
        return CheckResult(stalled.level(of: average), text, values: values)
    }
}
