// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The texts of errors that a worker reports.
public enum SystemErrorText {
    /// The text of an error, with the user if it concerns permissions: the user who tries it by hand is another one.
    public static func text(of number: Int32) -> String {
        let text = String(cString: strerror(number))
        guard number == EACCES else { return text }
        let name = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) }
        return "\(text) for the user \(name ?? String(geteuid()))"
    }
}
