// SPDX-License-Identifier: Apache-2.0

/// The name of a kind of notification, and the type of its user info.
///
/// Names are distinguished by that type, so each kind of notification needs a type of its own. Names are written as in
/// Foundation:
/// ```swift
/// struct StatusUpdate: Sendable { var status: String }
///
/// extension NotificationName where UserInfo == StatusUpdate {
///     static var didUpdateStatus: Self { Self() }
/// }
/// ```
public struct NotificationName<UserInfo: Sendable>: Sendable {
    /// The name of the notifications that carry a `UserInfo`.
    public init() {}
}
