// SPDX-License-Identifier: Apache-2.0

/// The environment of plugins.
enum PluginEnvironment {
    /// What the service manager set for this process alone.
    private static let own: Set = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
        "JOURNAL_STREAM",
        "INVOCATION_ID", "MAINPID", "SYSTEMD_EXEC_PID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
        "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY", "CREDENTIALS_DIRECTORY", "SWIFT_BACKTRACE",
        "STATUSD_ADDRESS", "STATUSD_EXECUTOR",
    ]

    /// Returns the worker's environment without what is meant for it alone, and always with `PATH`.
    static func inherited(from environment: [String: String]) -> [String: String] {
        var inherited = environment.filter { !own.contains($0.key) }
        if inherited["PATH"] == nil {
            inherited["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        }
        return inherited
    }
}
