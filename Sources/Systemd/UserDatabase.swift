// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The system's users and groups (getpwnam(3), getgrnam(3)).
///
/// They may be kept on another machine: to be asked on a thread that may wait (``BlockingThread``).
public enum UserDatabase {
    /// The number of a user, who is given by name or number; nil if there is no such user.
    public static func user(_ text: String) -> UInt32? {
        if let number = UInt32(text) { return number }
        return lookUp { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let failure = getpwnam_r(text, &entry, buffer, size, &found)
            return (failure, found == nil ? nil : entry.pw_uid)
        }
    }

    /// The number of a group; nil if there is no such group.
    public static func group(named name: String) -> UInt32? {
        lookUp { buffer, size in
            var entry = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let failure = getgrnam_r(name, &entry, buffer, size, &found)
            return (failure, found == nil ? nil : entry.gr_gid)
        }
    }

    /// Calls `body` with more and more memory until that is enough.
    private static func lookUp(
        _ body: (UnsafeMutablePointer<CChar>, Int) -> (failure: Int32, number: UInt32?)
    ) -> UInt32? {
        var size = 4096
        while size <= 1 << 24 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let result = body(buffer, size)
            if result.failure != ERANGE { return result.number }
            size *= 4
        }
        return nil
    }
}
