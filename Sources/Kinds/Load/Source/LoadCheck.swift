// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel

/// `load: true`: reads how many processes run or wait for each processor.
struct LoadCheck: Check {
    let settings: LoadSettings

    var resource: CheckBudget.Resource { .connection }

    func run() async throws -> CheckResult {
        guard let load = KernelLoad.current else { throw CheckFailure("cannot read the load from /proc/loadavg") }
        return settings.judge(load)
    }
}

extension LoadSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { LoadCheck(settings: self) }
}

extension LoadSettings {
    func judge(_ kernel: KernelLoad) -> CheckResult {
        let average = kernel.perProcessor(over: over)
        return CheckResult(
            load.level(of: average), KernelLoad.text(average),
            values: [MeasuredValue("load", average, warning: load.warning, critical: load.critical)])
    }
}
