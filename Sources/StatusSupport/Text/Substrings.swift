// SPDX-License-Identifier: Apache-2.0

import Glibc

extension String {
    /// Whether another text occurs in this one, byte for byte; neither may contain NUL.
    ///
    /// The one of the standard library would link Swift's regular expressions (packaging/build).
    package func contains(_ text: String) -> Bool { strstr(self, text) != nil }
}
