// SPDX-License-Identifier: Apache-2.0

/// A text format that Prometheus reads.
public enum MetricsFormat: Sendable {
    /// The text format, version 0.0.4.
    case prometheus
    /// OpenMetrics 1.0.
    case openMetrics

    /// The value of the HTTP header `Content-Type`.
    public var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }
}
