// SPDX-License-Identifier: Apache-2.0

import StatusModel
import YAML

/// The rest of a certificate's life from which on its server is a warning, or critical.
public struct ExpiryLimits: Equatable, Sendable {
    /// The time before the expiry from which on the level is warning, if the configuration sets none.
    public static let defaultWarning = Duration.seconds(14 * 86_400)
    /// Certificates that live shorter are renewed late: their limits are parts of their life.
    static let shortLife = Duration.seconds(30 * 86_400)

    public let warning: Duration
    public let critical: Duration

    /// Creates the limits of a certificate.
    ///
    /// - Parameters:
    ///   - expires: the configured time before the expiry.
    ///   - life: the time from the certificate's first moment to its last one.
    public init(_ expires: Duration, life: Duration) {
        let isShort = life < Self.shortLife
        warning = isShort ? min(expires, life / 3) : expires
        critical = isShort ? min(expires / 7, life / 10) : expires / 7
    }

    static func read(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> Duration {
        try nodes.duration(node, of: "expires", in: Duration.seconds(60)...Duration.seconds(3650 * 86_400))
    }
}
