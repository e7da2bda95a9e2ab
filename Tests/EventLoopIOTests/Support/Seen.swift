// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Recorded events, in order, from any thread.
final class Seen<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
