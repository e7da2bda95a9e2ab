// SPDX-License-Identifier: Apache-2.0

/// Whether a server has a status, and why not.
public enum Phase: String, Sendable, CaseIterable {
    /// Its first load has not ended.
    case loading
    /// It has a status.
    case loaded
    /// Its load ended with nothing to show.
    case empty
    /// Its last load failed.
    case failed
}
