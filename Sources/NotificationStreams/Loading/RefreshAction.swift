// SPDX-License-Identifier: Apache-2.0

/// An asynchronous action that brings something up to date, called like a function.
///
/// This is SwiftUI's `RefreshAction`, made from an asynchronous closure:
/// ```swift
/// let refresh: RefreshAction? = RefreshAction { await checks.run() }
/// await refresh?()
/// ```
/// The call returns when the refresh is done, so that a progress indicator need only live as long as the call. Where there is
/// nothing to refresh there is no action: keep it as an optional, and show no way to refresh where it is `nil`.
public struct RefreshAction: Sendable {
    private let action: @Sendable () async -> Void

    /// Makes an action of a closure, which is to end soon when its task is cancelled.
    public init(_ action: @escaping @Sendable () async -> Void) {
        self.action = action
    }

    /// Runs the action in the caller's task and waits for its end.
    ///
    /// Cancelling the caller's task cancels the action, which then ends as soon as it heeds that.
    public func callAsFunction() async {
        await action()
    }
}
