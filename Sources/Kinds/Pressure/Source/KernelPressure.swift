// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds

/// The percentages of the last times in which at least one program waited for a resource.
struct KernelPressure: Equatable {
    /// The percentages of the last 10 s, 1 min and 5 min.
    private var averages: [Double]

    /// The percentage of the last minute.
    var minute: Double { averages[1] }

    /// Reads the pressure of a resource now; nil if the kernel does not measure it.
    init?(of resource: PressureSettings.Resource) { self.init(SystemFile.text(at: resource.file) ?? "") }

    /// - Parameter text: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and other lines.
    init?(_ text: String) {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("some ") }) else { return nil }
        let fields = line.split(separator: " ").dropFirst()
        averages = ["avg10=", "avg60=", "avg300="].compactMap { name in
            fields.first { $0.hasPrefix(name) }.flatMap { Double($0.dropFirst(name.count)) }
        }
        if averages.count < 3 { return nil }
    }

    /// The percentage of a period, one of ``PressureSettings/periods``.
    func average(over period: Duration) -> Double {
        averages[PressureSettings.periods.firstIndex(of: period) ?? 1]
    }
}
