// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds

/// A user of one of the installed services, so that `verify` sees files as the service does.
enum ServiceUser: String {
    /// The user of the daemon, which reads the configuration.
    case daemon = "statusd"
    /// The user of the executor, which runs plugins.
    case executor = "statusd-executor"
    /// The user of the executor that runs receivers of alerts.
    case alerts = "statusd-alerts"

    /// Runs `body` with the rights of this user.
    ///
    /// If the caller is not root or the user does not exist, `body` runs with the rights of the caller.
    func perform<Result>(_ body: () -> Result) -> Result {
        guard let account else { return body() }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        getgroups(Int32(groups.count), &groups)
        defer {
            seteuid(0)
            setegid(0)
            setgroups(groups.count, groups)
        }
        initgroups(rawValue, account.pw_gid)
        setegid(account.pw_gid)
        seteuid(account.pw_uid)
        return body()
    }

    /// What the user's service does not see.
    var sandbox: ServiceSandbox {
        switch self {
        case .daemon: .daemon
        case .executor: .executor
        case .alerts: .alerts
        }
    }

    private var account: passwd? { geteuid() == 0 ? getpwnam(rawValue)?.pointee : nil }
}
