// SPDX-License-Identifier: Apache-2.0

import CSystemd
import EventLoopIO
import Glibc

/// A connection of sd-bus to the system bus; used by one thread.
///
/// It returns all messages in the order in which they arrive, signals as well as replies. A lost connection is not
/// reused; create a new one.
final class SystemBus {
    /// The name of the bus itself, which no other sender can have.
    static let name = "org.freedesktop.DBus"

    /// The address of the system bus, as for sd_bus_open_system(3).
    static var address: String {
        ProcessEnvironment.current["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
    }

    private static let closed = IOError(.systemCall, "the system bus closed the connection")

    private let bus: OpaquePointer

    private var isOpen: Bool { sd_bus_is_open(bus) > 0 }

    /// Begins to connect, like sd_bus_open_system(3), but without accepting descriptors; calls wait until it has.
    ///
    /// Any user may send descriptors, and closing them may block.
    init(_ address: String) throws(IOError) {
        var bus: OpaquePointer?
        guard sd_bus_new(&bus) >= 0, let bus else { throw IOError(errno: ENOMEM, "cannot reach the system bus") }
        self.bus = bus
        for result in [
            sd_bus_set_address(bus, address), sd_bus_set_bus_client(bus, 1), sd_bus_negotiate_fds(bus, 0),
            sd_bus_set_exit_on_disconnect(bus, 0), sd_bus_start(bus),
        ] where result < 0 {
            // deinit closes it.
            throw IOError(errno: -result, "cannot reach the system bus")
        }
    }

    deinit { sd_bus_close_unref(bus) }

    /// Calls a method that takes strings, and then lists of strings; returns the number that the reply will have
    /// (``BusMessage/replyNumber``).
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String],
        lists: [[String]] = []
    ) throws(IOError) -> UInt64 {
        var message: OpaquePointer?
        defer { sd_bus_message_unref(message) }
        var result = sd_bus_message_new_method_call(bus, &message, destination, path, interface, member)
        // The bus must not start the service manager.
        if result >= 0 { result = sd_bus_message_set_auto_start(message, 0) }
        func append(_ strings: [String]) {
            for string in strings where result >= 0 {
                result = sd_bus_message_append_basic(message, CChar(bitPattern: UInt8(ascii: "s")), string)
            }
        }
        append(arguments)
        for list in lists where result >= 0 {
            result = sd_bus_message_open_container(message, CChar(bitPattern: UInt8(ascii: "a")), "s")
            append(list)
            if result >= 0 { result = sd_bus_message_close_container(message) }
        }
        var number: UInt64 = 0
        if result >= 0 { result = sd_bus_send(bus, message, &number) }
        guard result >= 0 else { throw isOpen ? IOError(errno: -result, "cannot send to the system bus") : Self.closed }
        return number
    }

    /// Takes the next message that has arrived; nil if there is none.
    func receive() throws(IOError) -> BusMessage? {
        while true {
            var message: OpaquePointer?
            let result = sd_bus_process(bus, &message)
            let received = message.map { BusMessage(owning: $0) }
            guard result >= 0, isOpen else { throw Self.closed }
            if received != nil || result == 0 { return received }
        }
    }

    /// The events to wait for with poll(2) after ``receive()`` has returned nil.
    var awaited: pollfd {
        pollfd(fd: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)), revents: 0)
    }
}
