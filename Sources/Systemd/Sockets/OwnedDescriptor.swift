// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file descriptor that is closed when the last reference to it goes.
public final class OwnedDescriptor: Sendable {
    /// The number; valid as long as this object lives.
    public let rawValue: Int32

    /// Takes over `descriptor`, which nobody else may close.
    public init(adopting descriptor: Int32) { rawValue = descriptor }

    deinit { close(rawValue) }
}
