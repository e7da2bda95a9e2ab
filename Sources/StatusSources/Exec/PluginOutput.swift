// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import Subprocess

/// What a plugin wrote.
struct PluginOutput: Sendable {
    var standardOutput: [UInt8]
    var standardError: [UInt8]

    /// What it means, together with how the plugin ended.
    func result(of status: TerminationStatus) -> CheckResult {
        switch status {
        case .exited(0): CheckResult(.ok, text)
        case .exited(1): CheckResult(.warning, text)
        case .exited(2): CheckResult(.critical, text)
        case .exited(3): CheckResult(.unknown, text)
        case .exited(let code): CheckResult(.unknown, "\(text) (exit status \(code))")
        case .signaled(let number):
            CheckResult(.unknown, "\(text) (ended by signal \(number), \(String(cString: strsignal(number))))")
        }
    }

    /// The first line up to `|`, behind which performance data stands; that of standard error where standard output has none.
    private var text: String {
        for bytes in [standardOutput, standardError] {
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "|") }
            if let text = StatusText(fitting: String(decoding: line, as: UTF8.self)) { return text.rawValue }
        }
        return "no output"
    }
}
