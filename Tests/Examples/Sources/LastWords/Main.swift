// SPDX-License-Identifier: Apache-2.0

import Logging
import SystemdClient

/// Logs one message to the journal or to standard error, and ends.
@main
struct Main {
    static func main() {
        LoggingSystem.bootstrap { label in
            Journal.makeLogHandler(label: label, identifier: "example", names: JournalFieldNames(prefix: "EXAMPLE_"))
        }
        Logger(label: "main").critical("last words", metadata: ["reason": "none\nat all"])
    }
}
