// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// A file descriptor that is closed when the last reference to it goes.
public final class OwnedDescriptor: Sendable {
    /// The number; valid as long as this object lives.
    public let rawValue: Int32

    /// Takes over `descriptor`, which nobody else may close.
    public init(adopting descriptor: Int32) { rawValue = descriptor }

    deinit { close(rawValue) }
}

extension OwnedDescriptor {
    /// The number of descriptors kept for what cannot do without: swift-subprocess, and Dispatch that it sleeps with, stop the process
    /// if they cannot open what they need for a moment.
    public static let reserve = 16

    /// How many descriptors this process may have.
    public static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether the next descriptor would be one of the reserve, or there is none: the kernel gives out the lowest number that is free.
    static func isInReserve(nextTo descriptor: Int32) -> Bool {
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if next >= 0 { close(next) }
        return next < 0 || Int(next) >= limit - reserve
    }

    /// Whether there is room for so many more at this moment.
    public static func hasRoom(for count: Int) -> Bool {
        let first = eventfd(0, Int32(EFD_CLOEXEC))
        guard first >= 0 else { return false }
        var opened = [first]
        while opened.count < count {
            let next = fcntl(first, F_DUPFD_CLOEXEC, 0)
            if next < 0 { break }
            opened.append(next)
        }
        for descriptor in opened { close(descriptor) }
        return opened.count == count
    }
}
