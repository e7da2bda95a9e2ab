// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds
import StatusModel

/// `memory: true`: reads how much memory programs can still get.
struct MemoryCheck: Check {
    let settings: MemorySettings

    var resource: CheckBudget.Resource { .connection }

    func run() async throws -> CheckResult {
        guard let memory = MemoryUse(SystemFile.text(at: "/proc/meminfo") ?? "") else {
            throw CheckFailure("cannot read how much memory is available from /proc/meminfo")
        }
        return settings.judge(memory, pressure: KernelPressure(of: .memory))
    }
}

extension MemorySettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { MemoryCheck(settings: self) }
}

/// The kernel's numbers of bytes (proc(5), /proc/meminfo).
struct MemoryUse: Equatable {
    var (total, available, swap, freeSwap) = (0.0, 0.0, 0.0, 0.0)

    /// The percentage that programs cannot get without swapping; caches that the kernel can drop do not count.
    var usedPercentage: Double { (total - available) / total * 100 }
    var usedSwapPercentage: Double { swap > 0 ? (swap - freeSwap) / swap * 100 : 0 }

    /// - Returns: nil if the text lacks a number, as before Linux 3.14.
    init?(_ text: String) {
        var kilobytes: [Substring: Double] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("Mem") || line.hasPrefix("Swap") {
            let fields = line.split(separator: " ")
            if fields.count == 3, fields[2] == "kB" { kilobytes[fields[0]] = Double(fields[1]) }
        }
        guard let total = kilobytes["MemTotal:"], let available = kilobytes["MemAvailable:"], total > 0 else {
            return nil
        }
        (self.total, self.available) = (total * 1024, min(available, total) * 1024)
        swap = (kilobytes["SwapTotal:"] ?? 0) * 1024
        freeSwap = (kilobytes["SwapFree:"] ?? 0) * 1024
    }
}

extension MemorySettings {
    /// - Parameter pressure: nil if the kernel does not measure it.
    func judge(_ memory: MemoryUse, pressure: KernelPressure?) -> CheckResult {
        let available = MeasuredValue("available", memory.available, "B")
        let total = MeasuredValue("total", memory.total, "B")
        var values = [
            MeasuredValue("used", memory.usedPercentage, "%", warning: used.warning, critical: used.critical),
            available, total,
        ]
        // “5.2 of 16 GB”, if the unit is the same.
        let (number, unit) = (available.text.prefix { $0 != " " }, available.text.drop { $0 != " " })
        var text = "\(total.text.hasSuffix(unit) ? String(number) : available.text) of \(total.text) available"
        var level = used.level(of: memory.usedPercentage)
        if let swap, memory.swap > 0 {
            let used = MeasuredValue("swap", memory.usedSwapPercentage, "%", warning: swap)
            values.append(used)
            text += "; \(used.text) of swap used"
            if level == .ok, used.value >= swap { level = .warning }
        }
        if let pressure {
            values.append(MeasuredValue("pressure", pressure.minute, "%"))
            text += "; pressure \(MeasuredValue.text(pressure.minute, "%"))"
        }
        return CheckResult(level, text, values: values)
    }
}
