// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text with each such scalar replaced, even if others combine with it.
    ///
    /// Other programs parse scalars or bytes. A `Character` is a cluster of scalars, so with a combining scalar after
    /// it, this one would not be found.
    func replacingScalar(_ scalar: Unicode.Scalar, with text: String) -> String {
        unicodeScalars.reduce(into: "") { result, next in
            if next == scalar {
                result.unicodeScalars += text.unicodeScalars
            } else {
                result.unicodeScalars.append(next)
            }
        }
    }
}
