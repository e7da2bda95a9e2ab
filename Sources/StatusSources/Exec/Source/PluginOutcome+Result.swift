// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import StatusWorkers

extension PluginOutcome {
    /// The result by the Nagios plugin interface; throws if the plugin did not run.
    func result(of path: String) throws(CheckFailure) -> CheckResult {
        switch ending {
        case .exited(0): CheckResult(.ok, text)
        case .exited(1): CheckResult(.warning, text)
        case .exited(2): CheckResult(.critical, text)
        case .exited(3): CheckResult(.unknown, text)
        case .exited(let code): CheckResult(.unknown, "\(text) (exit status \(code))")
        case .signaled(let number):
            CheckResult(
                .unknown, "\(text) (ended by signal \(number), \(String(cString: strsignal(Int32(clamping: number)))))")
        case .notStarted(let reason): throw CheckFailure("cannot run \(path): \(reason)")
        }
    }

    /// The first line that has text before `|`, where performance data begins; of standard error if standard output has
    /// none.
    private var text: String {
        for stream in [output, errors] {
            // Not characters: a single one may combine a line end or a bar with other scalars.
            for line in stream.unicodeScalars.split(separator: "\n") {
                let visible = Substring(line.prefix { $0 != "|" })
                if let text = StatusText(fitting: String(visible)) { return text.rawValue }
            }
        }
        return "no output"
    }
}
