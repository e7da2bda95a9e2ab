// SPDX-License-Identifier: Apache-2.0

import CCurl
import CSystemd
import Glibc

/// The names that libcurl looks up, each on a thread of its own, which stays until its resolver answers.
enum LookUps {
    /// How many may be left unanswered.
    private static let maximum = 64

    /// Whether there may be another one.
    ///
    /// - Throws: ``HTTPFailure`` if too many are not answered.
    static func check() throws(HTTPFailure) {
        guard count > maximum else { return }
        throw HTTPFailure(
            reason: "cannot look up the host: too many look-ups are not answered; see “resolvectl status”",
            isLocal: true)
    }

    /// The number of threads beside this one: a directory has as many links as directories in it, and two (proc(5)).
    private static var count: Int {
        var status = stat()
        return stat("/proc/self/task", &status) == 0 ? max(0, Int(status.st_nlink) - 3) : 0
    }
}
