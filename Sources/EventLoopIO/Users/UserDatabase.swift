// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Looks up users and groups (getpwnam(3), getgrnam(3)).
///
/// The database may be on another machine, so call this on a thread that may block (``BlockingThread``).
package enum UserDatabase {
    /// Returns the ID of a user, given by name or number; nil if there is no such user.
    ///
    /// - Throws: ``IOError`` if the lookup fails.
    package static func user(_ text: String) throws(IOError) -> UInt32? {
        if let number = UInt32(text) { return number }
        return try lookUp("user “\(text)”") { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let failure = getpwnam_r(text, &entry, buffer, size, &found)
            return (failure, found == nil ? nil : entry.pw_uid)
        }
    }

    /// Returns the name of a user; nil if there is no such user.
    ///
    /// - Throws: ``IOError`` if the lookup fails.
    package static func name(ofUser number: UInt32) throws(IOError) -> String? {
        try lookUp("user \(number)") { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let failure = getpwuid_r(number, &entry, buffer, size, &found)
            return (failure, found == nil ? nil : String(cString: entry.pw_name))
        }
    }

    /// Returns the ID of a group; nil if there is no such group.
    ///
    /// - Throws: ``IOError`` if the lookup fails.
    package static func group(named name: String) throws(IOError) -> UInt32? {
        try lookUp("group “\(name)”") { buffer, size in
            var entry = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let failure = getgrnam_r(name, &entry, buffer, size, &found)
            return (failure, found == nil ? nil : entry.gr_gid)
        }
    }

    /// No number of an error, so that a lookup that sets none differs from one that finds nothing.
    private static let unanswered: Int32 = -1

    /// Calls `body` with larger and larger buffers until the entry fits.
    private static func lookUp<Value>(
        _ what: String, _ body: (UnsafeMutablePointer<CChar>, Int) -> (failure: Int32, value: Value?)
    ) throws(IOError) -> Value? {
        var size = 4096
        while size <= 1 << 24 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            // glibc returns this number, and not one of its own, if a service of nsswitch.conf(5) is missing.
            errno = unanswered
            let result = body(buffer, size)
            switch result.failure {
            case unanswered:
                throw IOError(.systemCall, "cannot look up the \(what): no service in nsswitch.conf(5) has answered")
            case ERANGE: size *= 4
            // All of these mean that there is no such entry (getpwnam(3)).
            case 0, ENOENT, ESRCH, EBADF, EPERM: return result.value
            case let failure: throw IOError(errno: failure, "cannot look up the \(what)")
            }
        }
        throw IOError(errno: ERANGE, "cannot look up the \(what)")
    }
}
