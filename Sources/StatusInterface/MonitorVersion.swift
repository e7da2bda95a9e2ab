// SPDX-License-Identifier: Apache-2.0

/// The version of statusd and statusctl.
public enum MonitorVersion {
    /// The version, in the form of semantic versioning.
    public static let current = "0.1.0"
}
