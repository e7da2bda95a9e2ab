// SPDX-License-Identifier: Apache-2.0

/// An action that refreshes something, called like a function.
///
/// This is SwiftUI's `RefreshAction`, created from an asynchronous closure:
/// ```swift
/// let refresh: RefreshAction? = RefreshAction { await checks.run() }
/// await refresh?()
/// ```
/// The call returns when the refresh has ended, so a progress indicator needs to live only as long as the call. Keep
/// the action as an optional: `nil` means that there is nothing to refresh, and no way to refresh should be offered.
public struct RefreshAction: Sendable {
    private let action: @Sendable () async -> Void

    /// Creates an action from a closure, which should end soon after its task is cancelled.
    public init(_ action: @escaping @Sendable () async -> Void) { self.action = action }

    /// Runs the action in the caller's task, and returns when it has ended.
    ///
    /// Cancelling that task therefore cancels the action.
    public func callAsFunction() async { await action() }
}
