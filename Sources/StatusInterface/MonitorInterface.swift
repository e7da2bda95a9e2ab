// SPDX-License-Identifier: Apache-2.0

/// The control interface `org.statusd.monitor`.
public enum MonitorInterface {
    /// Its name.
    public static let name = "org.statusd.monitor"

    /// Its description in the interface definition language of Varlink, word for word the file beside this one.
    public static let text = String(decoding: PackageResources.org_statusd_monitor_varlink, as: UTF8.self)

    /// The full name of a method or error.
    public static func qualified(_ member: String) -> String { "\(name).\(member)" }
}
