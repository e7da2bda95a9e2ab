// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Which notifications are kept while their consumer does not wait, as in `AsyncStream`.
///
/// A negative number stops the program when the iterator is created.
public enum NotificationBufferingPolicy: Sendable, Equatable {
    /// Keeps all of them; the memory used grows with the consumer's backlog.
    case unbounded
    /// Keeps the oldest, up to this number, and drops what arrives after that.
    case bufferingOldest(Int)
    /// Keeps the newest, up to this number, and drops the oldest when another arrives.
    case bufferingNewest(Int)

    /// Appends an element to a buffer and returns the one that must be dropped for it, if any.
    func append<Element>(_ element: Element, to buffer: inout Deque<Element>) -> Element? {
        switch self {
        case .bufferingOldest(let limit) where buffer.count >= limit:
            return element
        case .bufferingNewest(let limit) where buffer.count >= limit:
            guard let oldest = buffer.popFirst() else { return element }  // a limit of zero
            buffer.append(element)
            return oldest
        case .unbounded, .bufferingOldest, .bufferingNewest:
            buffer.append(element)
            return nil
        }
    }
}
