// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// A connection to the system bus, sd-bus(3), served by the loop; when it is lost it is lost, and another one is to be made.
@EventLoop
final class BusConnection {
    /// Whom a call is for, and what it asks.
    struct Method {
        var destination: String
        var path: String
        var interface: String
        var member: String
    }

    /// sd-bus's own signal that there will be no other one; a peer cannot send it.
    private static let disconnected =
        "type='signal',sender='\(localName)',path='/org/freedesktop/DBus/Local',interface='\(localName)'"
        + ",member='Disconnected'"
    private static let localName = "org.freedesktop.DBus.Local"

    private var bus: OpaquePointer?
    private var matches: [BusSlot] = []
    /// What is waited for, by the number of the call.
    private var calls: [UInt64: BusSlot] = [:]
    private var callCount: UInt64 = 0
    private var lost: (@EventLoop (String) -> Void)?

    /// Begins to connect, which goes on on the loop; what is sent meanwhile waits.
    ///
    /// - Parameter lost: is told once, never from within a call to the connection, why it is of no use any more: a phrase.
    init(lost: @escaping @EventLoop (String) -> Void) throws(SystemdError) {
        let bus = try Self.open()
        self.bus = bus
        self.lost = lost
        sd_bus_set_exit_on_disconnect(bus, 0)
        let attached = sd_bus_attach_event(bus, EventLoop.executor.event, Int32(SD_EVENT_PRIORITY_NORMAL))
        EventLoop.executor.attachedBuses += 1
        guard attached >= 0 else { throw SystemdError(errno: -attached, "cannot wait for the system bus") }
        addMatch(Self.disconnected) { [weak self] message in
            guard message.sender == Self.localName else { return }
            self?.lose("the system bus closed the connection")
        }
    }

    isolated deinit { close() }

    /// The system bus as sd_bus_open_system(3) opens it, but without descriptors: those that any user may send would be closed on the loop,
    /// which may wait for them.
    private static func open() throws(SystemdError) -> OpaquePointer {
        var bus: OpaquePointer?
        guard sd_bus_new(&bus) >= 0, let bus else { throw SystemdError(errno: ENOMEM, "cannot reach the system bus") }
        let address = ProcessEnvironment.current["DBUS_SYSTEM_BUS_ADDRESS"] ?? standardAddress
        for result in [
            sd_bus_set_address(bus, address), sd_bus_set_bus_client(bus, 1), sd_bus_negotiate_fds(bus, 0),
            sd_bus_start(bus),
        ] where result < 0 {
            sd_bus_unref(bus)
            throw SystemdError(errno: -result, "cannot reach the system bus")
        }
        return bus
    }

    private static let standardAddress = "unix:path=/run/dbus/system_bus_socket"

    /// Calls `handler` with each signal that `rule` (sd_bus_add_match(3)) lets through.
    ///
    /// Whoever is on the bus can send this process a signal that no match asked for, and sd-bus cannot tell whether a sender has
    /// the well-known name of a rule: the handler has to look at ``BusMessage/sender``.
    func addMatch(_ rule: String, handler: @escaping @EventLoop (BusMessage) -> Void) {
        guard let bus else { return }
        do throws(SystemdError) {
            matches.append(
                try BusSlot(handler: handler) { slot, context in
                    sd_bus_add_match_async(bus, slot, rule, busCallback, nil, context)
                })
        } catch {
            loseLater(error.message)
        }
    }

    /// Calls `handler` with each message that comes, before anybody else.
    func addFilter(handler: @escaping @EventLoop (BusMessage) -> Void) throws(SystemdError) {
        guard let bus else { return }
        matches.append(
            try BusSlot(handler: handler) { slot, context in sd_bus_add_filter(bus, slot, busCallback, context) })
    }

    /// Calls a method that takes strings; `reply` is called with the reply, or with the error that takes its place.
    func call(_ method: Method, _ arguments: [String] = [], reply: @escaping @EventLoop (BusMessage) -> Void) {
        guard let bus else { return }
        callCount += 1
        let number = callCount
        do throws(SystemdError) {
            calls[number] = try BusSlot { [weak self] message in
                self?.calls[number] = nil
                reply(message)
            } register: { slot, context in
                Self.send(method, arguments, over: bus, slot, context)
            }
        } catch {
            loseLater(error.message)
        }
    }

    private static func send(
        _ method: Method, _ arguments: [String], over bus: OpaquePointer,
        _ slot: UnsafeMutablePointer<OpaquePointer?>, _ context: UnsafeMutableRawPointer
    ) -> Int32 {
        var message: OpaquePointer?
        defer { sd_bus_message_unref(message) }
        var result = sd_bus_message_new_method_call(
            bus, &message, method.destination, method.path, method.interface, method.member)
        // Nobody starts the service manager.
        if result >= 0 { result = sd_bus_message_set_auto_start(message, 0) }
        for argument in arguments where result >= 0 {
            result = sd_bus_message_append_basic(message, CChar(bitPattern: UInt8(ascii: "s")), argument)
        }
        return result < 0 ? result : sd_bus_call_async(bus, slot, message, busCallback, context, 0)
    }

    /// Ends the connection; nobody is told, and no reply comes any more.
    func close() {
        guard let bus else { return }
        self.bus = nil
        lost = nil
        matches.removeAll()
        calls.removeAll()
        // Later, because the caller may be one that the bus is calling. Nothing is flushed: that would wait.
        EventLoop.atEndOfTurn {
            _ = sd_bus_close_unref(bus)
            EventLoop.executor.attachedBuses -= 1
        }
    }

    private func loseLater(_ reason: String) {
        EventLoop.atEndOfTurn { [weak self] in self?.lose(reason) }
    }

    private func lose(_ reason: String) {
        let lost = lost
        close()
        lost?(reason)
    }
}
