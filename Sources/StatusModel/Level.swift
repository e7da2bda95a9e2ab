// SPDX-License-Identifier: Apache-2.0

/// How serious a status is, in the words of the Nagios plugin interface.
public enum Level: String, Sendable, CaseIterable {
    case ok, warning, critical, unknown
}
