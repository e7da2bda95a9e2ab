// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// One thing that is waited for on the bus, a call's reply or the signals of a match, and who is told.
@EventLoop
final class BusSlot {
    private var slot: OpaquePointer?
    private var handler: (@EventLoop (BusMessage) -> Void)?

    /// Has `register` make the slot; it gets the place for it and the context for ``busCallback(_:_:_:)``.
    init(
        handler: @escaping @EventLoop (BusMessage) -> Void,
        register: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32
    ) throws(SystemdError) {
        self.handler = handler
        let result = register(&slot, Unmanaged.passUnretained(self).toOpaque())
        guard result >= 0 else { throw SystemdError(errno: -result, "cannot send to the system bus") }
    }

    isolated deinit { cancel() }

    /// Stops waiting and lets the handler go; may be called by the handler, as sd-bus keeps the slot that it is calling.
    func cancel() {
        slot = sd_bus_slot_unref(slot)
        handler = nil
    }

    func fire(_ message: BusMessage) {
        let handler = handler
        handler?(message)
    }
}
