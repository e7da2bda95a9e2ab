// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import EventLoopIO
import Glibc

/// A connection of sd-bus to the system bus; used by one thread.
final class BusSession {
    private let bus: OpaquePointer
    private let settings: BusSettings
    private let receive: @Sendable (BusThread.Event) -> Void
    /// The unanswered calls by sd-bus's number (cookie): their own number, and how often the service's name had changed
    /// hands.
    private var calls: [UInt64: (number: Int, ownerCount: Int)] = [:]
    private var trust: BusTrust

    init(_ settings: BusSettings, receive: @escaping @Sendable (BusThread.Event) -> Void) throws(IOError) {
        bus = try Self.open(settings.address)
        trust = BusTrust(service: settings.service)
        self.settings = settings
        self.receive = receive
        let result = sd_bus_add_filter(bus, nil, busFilter, Unmanaged.passUnretained(self).toOpaque())
        // deinit closes the connection.
        guard result >= 0 else { throw IOError(errno: -result, "cannot reach the system bus") }
    }

    deinit { sd_bus_close_unref(bus) }

    /// Connects like sd_bus_open_system(3), but without accepting descriptors.
    ///
    /// Any user may send descriptors, which would be closed here, and closing them may wait.
    private static func open(_ address: String) throws(IOError) -> OpaquePointer {
        var bus: OpaquePointer?
        guard sd_bus_new(&bus) >= 0, let bus else { throw IOError(errno: ENOMEM, "cannot reach the system bus") }
        for result in [
            sd_bus_set_address(bus, address), sd_bus_set_bus_client(bus, 1), sd_bus_negotiate_fds(bus, 0),
            sd_bus_set_exit_on_disconnect(bus, 0), sd_bus_start(bus),
        ] where result < 0 {
            sd_bus_unref(bus)
            throw IOError(errno: -result, "cannot reach the system bus")
        }
        return bus
    }

    /// Sends a call, or keeps it until the connection is up.
    func send(_ call: BusCall) throws(IOError) {
        var message: OpaquePointer?
        defer { sd_bus_message_unref(message) }
        var result = sd_bus_message_new_method_call(
            bus, &message, call.destination, call.path, call.interface, call.member)
        // The bus must not start the service manager.
        if result >= 0 { result = sd_bus_message_set_auto_start(message, 0) }
        for argument in call.arguments where result >= 0 {
            result = sd_bus_message_append_basic(message, CChar(bitPattern: UInt8(ascii: "s")), argument)
        }
        if result >= 0 {
            let context = Unmanaged.passUnretained(self).toOpaque()
            result = sd_bus_call_async(bus, nil, message, busReply, context, UInt64(call.timeout / .microseconds(1)))
        }
        var cookie: UInt64 = 0
        if result >= 0 { result = sd_bus_message_get_cookie(message, &cookie) }
        guard result >= 0 else {
            throw isOpen ? IOError(errno: -result, "cannot send to the system bus") : Self.closed
        }
        calls[cookie] = (call.number, trust.ownerCount)
    }

    /// Handles one message or timeout; returns whether there was one.
    func process() throws(IOError) -> Bool {
        let result = sd_bus_process(bus, nil)
        guard result >= 0, isOpen else { throw Self.closed }
        return result > 0
    }

    private static let closed = IOError(.systemCall, "the system bus closed the connection")

    private var isOpen: Bool { sd_bus_is_open(bus) > 0 }

    /// Waits until sd-bus has something to do, or `other` is readable, which is then reset.
    func wait(or other: OwnedDescriptor) {
        let events = sd_bus_get_events(bus)
        var due = UInt64.max
        guard events >= 0, sd_bus_get_timeout(bus, &due) >= 0 else { return }
        var polled = [
            pollfd(fd: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: events), revents: 0),
            pollfd(fd: other.rawValue, events: Int16(POLLIN), revents: 0),
        ]
        poll(&polled, 2, Self.milliseconds(until: due))
        var count: UInt64 = 0
        if polled[1].revents != 0 { eventfd_read(other.rawValue, &count) }
    }

    /// Converts a monotonic time in microseconds to poll(2)'s timeout.
    private static func milliseconds(until due: UInt64) -> Int32 {
        if due == .max { return -1 }
        let elapsed = nanoseconds(of: CLOCK_MONOTONIC) / 1000
        return due <= elapsed ? 0 : Int32(clamping: (due - elapsed) / 1000 + 1)
    }

    // MARK: Messages

    fileprivate func takeReply(_ message: OpaquePointer) {
        var cookie: UInt64 = 0
        guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0,
            let call = calls.removeValue(forKey: cookie)
        else { return }
        var reply = BusMessage(headerOf: message)
        reply.readContents(of: message, wanted: settings.wanted, filter: settings.filter)
        trust.noteReply(from: reply.sender, toCallOf: call.ownerCount)
        receive(.reply(call.number, reply))
    }

    fileprivate func takeOther(_ message: OpaquePointer) {
        var signal = BusMessage(headerOf: message)
        switch trust.judge(signal.sender, now: .now) {
        case .ignore: return
        case .report: receive(.disturbed)
        case .believe:
            if signal.member == "UnitNew" || signal.member == "UnitRemoved" { noteCaused() }
            guard settings.filter.mayPass(member: signal.member, path: signal.path) else { return }
            signal.readContents(of: message, wanted: settings.wanted)
            if signal.sender == BusTrust.busName, signal.member == "NameOwnerChanged" {
                trust.noteChange(signal.strings)
            }
            if settings.filter.passes(signal) { receive(.signal(signal)) }
        }
    }

    /// A process that makes the service send so many signals may keep it too busy to send others.
    private func noteCaused() {
        if trust.noteCaused(now: .now, limit: settings.filter.usualSignals) { receive(.disturbed) }
    }
}

private func busReply(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let context, let message else { return 0 }
    Unmanaged<BusSession>.fromOpaque(context).takeUnretainedValue().takeReply(message)
    return 0
}

private func busFilter(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let context, let message else { return 0 }
    var type: UInt8 = 0
    sd_bus_message_get_type(message, &type)
    // Late replies are ignored.
    let isCall = type == UInt8(SD_BUS_MESSAGE_METHOD_CALL)
    guard isCall || type == UInt8(SD_BUS_MESSAGE_SIGNAL) else { return 0 }
    Unmanaged<BusSession>.fromOpaque(context).takeUnretainedValue().takeOther(message)
    // A call gets no reply: sd-bus's refusal repeats the object's path, and the refusals of a caller that does not read
    // would pile up here without limit.
    return isCall ? 1 : 0
}
