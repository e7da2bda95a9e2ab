// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The environment variables of this process.
public enum ProcessEnvironment {
    /// All variables by name, as they are now.
    ///
    /// Foundation's `ProcessInfo` would do the same, and cost a program that uses nothing else of it half a
    /// millisecond.
    public static var current: [String: String] {
        var variables: [String: String] = [:]
        var next = linux_environment()
        while let variable = next?.pointee {
            let text = String(cString: variable)
            if let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                variables[String(text[..<equals])] = String(text[text.utf8.index(after: equals)...])
            }
            next = next?.advanced(by: 1)
        }
        return variables
    }
}
