// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text with each such scalar replaced, whatever combines with it.
    ///
    /// Other programs parse scalars or bytes. A `Character` is a cluster of scalars, which a combining one beside it
    /// makes another.
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
