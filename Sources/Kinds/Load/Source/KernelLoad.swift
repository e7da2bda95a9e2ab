// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel

/// The numbers of processes that run, or wait for a processor or a disk, on average (proc(5), /proc/loadavg).
struct KernelLoad: Equatable {
    /// The averages of the last 1 min, 5 min and 15 min.
    private let averages: [Double]
    private let processors: Double

    /// The load now; nil if it cannot be read.
    static var current: KernelLoad? {
        KernelLoad(SystemFile.text(at: "/proc/loadavg") ?? "", processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }

    /// - Parameter text: `0.08 0.50 5.85 1/240 4711`.
    init?(_ text: String, processors: Int) {
        averages = text.split(separator: " ").prefix(3).compactMap { Double($0) }
        self.processors = Double(processors)
        if averages.count < 3 || processors < 1 { return nil }
    }

    /// The load of one processor over a period, one of ``LoadSettings/periods``.
    func perProcessor(over period: Duration) -> Double {
        averages[LoadSettings.periods.firstIndex(of: period) ?? 0] / processors
    }

    /// The text for a load of one processor, with one digit after the point, because more of them say nothing.
    static func text(_ load: Double) -> String {
        "load \(MeasuredValue.text((load * 10).rounded() / 10, "")) per processor"
    }
}
