// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

enum ProgramOutput {
    /// What systemctl writes for arguments that the shell reads; nothing if it cannot be run or takes too long.
    ///
    /// The path is absolute, because root may run this.
    static func systemctl(_ arguments: String) -> String {
        let command = "/usr/bin/timeout 5 /usr/bin/systemctl \(arguments) 2>/dev/null"
        guard let pipe = popen(command, "re") else { return "" }
        defer { pclose(pipe) }
        return SystemFile.text(of: pipe)
    }
}
