// SPDX-License-Identifier: Apache-2.0

/// The version of statusd and statusctl, which come together.
public enum MonitorVersion {
    /// The version, as semantic versioning has it.
    public static let current = "0.1.0"
}
