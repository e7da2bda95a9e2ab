// SPDX-License-Identifier: Apache-2.0

/// The name of a kind of notification, which also says what its notifications carry.
///
/// The type of the user info tells names apart, so each kind of notification has a type of its own. Names are written as
/// Foundation's are:
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
