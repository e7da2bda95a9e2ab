// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import Glibc
import Testing

@testable import EventLoopIO
@testable import SystemdClient

/// A D-Bus with a service manager on it, served by sd-bus itself.
///
/// The messages are real, and the test chooses the answers.
@EventLoop
final class FakeBus {
    /// The unique names of the service manager, and of another client.
    static let (manager, stranger) = (":1.1", ":1.66")
    private static let (bus, systemd) = ("org.freedesktop.DBus", "org.freedesktop.systemd1")

    private static let missing = ["LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead"]

    /// The manager's properties of units, by their names; others do not exist.
    var units: [String: [String: String]] = [:]
    /// The units that the manager does not have in memory.
    var unloaded: Set<String> = []
    /// Whether the manager answers.
    var isAnswering = true
    /// Whether the bus accepts a client; until then, the client waits.
    var isAccepting = true {
        didSet { acceptor?.events = isAccepting ? .readable : [] }
    }
    /// The manager's methods that the bus's policy forbids.
    var forbidden: Set<String> = []
    /// The methods in which the manager itself fails.
    var failing: Set<String> = []
    /// The calls that the manager has not answered.
    private var unanswered: [OpaquePointer] = []
    /// Whether the client has asked the present manager for signals.
    private var isSubscribed = false
    /// The received calls, such as `GetUnit db.service`, or `GetAll db.service` by the name of its object.
    private(set) var calls: [String] = []

    let address: String
    private let path: String
    private let listener: OwnedDescriptor
    private var acceptor: IOSource?
    private var connection: OpaquePointer?
    private var source: IOSource?
    private var owner = FakeBus.manager

    init() throws {
        path = "/tmp/statusd-bus-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        address = "unix:path=\(path)"
        listener = try UnixSocket.listen(at: path, mode: 0o600)
        acceptor = try IOSource(listener, events: .readable) { [unowned self] _ in accept() }
    }

    isolated deinit {
        acceptor?.cancel()
        drop()
        unlink(path)
    }

    /// Ends the client's connection.
    func drop() {
        isSubscribed = false
        forgetUnanswered()
        source?.cancel()
        source = nil
        connection = sd_bus_close_unref(connection)
    }

    private func accept() {
        let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = accept4(listener.rawValue, nil, nil, flags)
        guard descriptor >= 0 else { return }
        drop()
        sd_bus_new(&connection)
        sd_bus_set_fd(connection, descriptor, descriptor)
        sd_bus_set_server(connection, 1, sd_id128_t())
        sd_bus_set_anonymous(connection, 1)
        sd_bus_add_filter(connection, nil, takeMessage, Unmanaged.passUnretained(self).toOpaque())
        sd_bus_start(connection)
        source = try? IOSource(OwnedDescriptor(adopting: dup(descriptor)), events: .readable) { [unowned self] _ in
            process()
        }
        process()
    }

    private func process() {
        while connection != nil, case let result = sd_bus_process(connection, nil), result != 0 {
            if result < 0 { return drop() }
        }
        sd_bus_flush(connection)
    }

    // MARK: Answers

    fileprivate func take(_ call: OpaquePointer) {
        let message = BusMessage(owning: sd_bus_message_ref(call))
        let (member, argument) = (message.member ?? "", message.string() ?? "")
        let unit = units.keys.first { FollowedUnit($0).path == message.path }
        calls.append([member, argument, unit ?? ""].filter { !$0.isEmpty }.joined(separator: " "))
        switch sd_bus_message_get_destination(call).map({ String(cString: $0) }) {
        case Self.bus: answerForBus(call, member)
        case owner: answerForManager(call, message, member, argument, unit)
        default: refuse(call, from: Self.bus, "\(Self.bus).Error.ServiceUnknown", "no such name")
        }
    }

    private func answerForManager(
        _ call: OpaquePointer, _ message: BusMessage, _ member: String, _ argument: String, _ unit: String?
    ) {
        guard isAnswering else { return unanswered.append(sd_bus_message_ref(call)) }
        if forbidden.contains(member) {
            return refuse(call, from: Self.bus, "\(Self.bus).Error.AccessDenied", "forbidden")
        }
        if failing.contains(member) {
            return refuse(call, from: owner, "System.Error.ENOBUFS", "no buffer space available")
        }
        if member == "Subscribe" { isSubscribed = true }
        switch member {
        case "GetUnit":
            guard units[argument] != nil, !unloaded.contains(argument) else {
                return refuse(call, from: owner, "\(Self.systemd).NoSuchUnit", "Unit \(argument) not loaded.")
            }
            reply(to: call, from: owner) {
                sd_bus_message_append_basic($0, Self.code("o"), FollowedUnit(argument).path)
            }
        case "GetAll":
            let properties = unit.map { (units[$0] ?? [:]).merging(["Id": $0]) { own, _ in own } } ?? Self.missing
            reply(to: call, from: owner) { Self.append(properties, to: $0) }
            let name = FollowedUnit.name(ofObject: message.path) ?? ""
            if units[name] == nil || unloaded.contains(name) {
                // It was loaded only for the answer.
                load(name)
                unload(name)
            }
        case "ListUnitsByPatterns":
            let (states, patterns) = (Self.strings(in: call), Self.strings(in: call))
            let listed = units.filter { name, properties in
                (states.isEmpty || states.contains(properties["ActiveState"] ?? ""))
                    && patterns.contains { fnmatch($0, name, FNM_NOESCAPE) == 0 } && !unloaded.contains(name)
            }
            reply(to: call, from: owner) { Self.append(listed, to: $0) }
        default: reply(to: call, from: owner) { _ in }
        }
    }

    private func answerForBus(_ call: OpaquePointer, _ member: String) {
        switch member {
        case "GetNameOwner" where owner.isEmpty:
            refuse(call, from: Self.bus, "\(Self.bus).Error.NameHasNoOwner", "no such name")
        case "Hello", "GetNameOwner":
            let name = member == "Hello" ? ":1.2" : owner
            reply(to: call, from: Self.bus) { sd_bus_message_append_basic($0, Self.code("s"), name) }
        default: reply(to: call, from: Self.bus) { _ in }
        }
    }

    private func reply(to call: OpaquePointer, from sender: String, _ fill: (OpaquePointer) -> Void) {
        var reply: OpaquePointer?
        sd_bus_message_new_method_return(call, &reply)
        send(reply, from: sender, fill)
    }

    private func refuse(_ call: OpaquePointer, from sender: String, _ name: String, _ text: String) {
        var reply: OpaquePointer?
        var error = sd_bus_error()
        sd_bus_error_set(&error, name, text)
        sd_bus_message_new_method_error(call, &reply, &error)
        sd_bus_error_free(&error)
        send(reply, from: sender) { _ in }
    }

    private func send(_ message: OpaquePointer?, from sender: String, _ fill: (OpaquePointer) -> Void) {
        guard let message else { return }
        fill(message)
        sd_bus_message_set_sender(message, sender)
        // Without a variable for the cookie, sd_bus_send(3) sends a call that expects no reply.
        var cookie: UInt64 = 0
        sd_bus_send(connection, message, &cookie)
        sd_bus_message_unref(message)
        sd_bus_flush(connection)
    }

    // MARK: Signals

    /// Signals that a unit was loaded.
    func load(_ unit: String) { signal("UnitNew", of: unit) }

    /// Signals that a unit was unloaded.
    func unload(_ unit: String) { signal("UnitRemoved", of: unit) }

    private func signal(_ member: String, of unit: String) {
        signal("/org/freedesktop/systemd1", "\(Self.systemd).Manager", member, from: owner) { message in
            sd_bus_message_append_basic(message, Self.code("s"), unit)
            sd_bus_message_append_basic(message, Self.code("o"), FollowedUnit(unit).path)
        }
    }

    /// Signals that a job for a unit has ended.
    func endJob(of unit: String, _ result: String) {
        signal("/org/freedesktop/systemd1", "\(Self.systemd).Manager", "JobRemoved", from: owner) { message in
            var number: UInt32 = 7
            sd_bus_message_append_basic(message, Self.code("u"), &number)
            sd_bus_message_append_basic(message, Self.code("o"), "/org/freedesktop/systemd1/job/7")
            for text in [unit, result] { sd_bus_message_append_basic(message, Self.code("s"), text) }
        }
    }

    /// Signals that properties of a unit have changed.
    func change(_ unit: String, _ properties: [String: String], from sender: String = manager) {
        units[unit]?.merge(properties) { $1 }
        #expect(isSubscribed, "the service manager sends signals to those only who have asked for them")
        signal(FollowedUnit(unit).path, "\(Self.bus).Properties", "PropertiesChanged", from: sender) { message in
            sd_bus_message_append_basic(message, Self.code("s"), "\(Self.systemd).Unit")
            Self.append(properties, to: message)
            sd_bus_message_open_container(message, Self.code("a"), "s")
            sd_bus_message_close_container(message)
        }
    }

    /// Signals that the manager has left the bus, or that another one has taken its name.
    func changeOwner(to newOwner: String?) {
        let former = owner
        owner = newOwner ?? ""
        isSubscribed = false
        isAnswering = newOwner != nil
        signal("/org/freedesktop/DBus", Self.bus, "NameOwnerChanged", from: Self.bus) { message in
            for name in [Self.systemd, former, owner] { sd_bus_message_append_basic(message, Self.code("s"), name) }
        }
        for call in unanswered { refuse(call, from: Self.bus, "\(Self.bus).Error.NoReply", "recipient disconnected") }
        forgetUnanswered()
    }

    private func forgetUnanswered() {
        for call in unanswered { sd_bus_message_unref(call) }
        unanswered = []
    }

    private func signal(
        _ path: String, _ interface: String, _ member: String, from sender: String, _ fill: (OpaquePointer) -> Void
    ) {
        var message: OpaquePointer?
        sd_bus_message_new_signal(connection, &message, path, interface, member)
        send(message, from: sender, fill)
    }

    // MARK: -

    private static func strings(in message: OpaquePointer) -> [String] {
        sd_bus_message_enter_container(message, code("a"), "s")
        defer { sd_bus_message_exit_container(message) }
        var strings: [String] = []
        var string: UnsafePointer<CChar>?
        while sd_bus_message_read_basic(message, code("s"), &string) > 0, let text = string {
            strings.append(String(cString: text))
        }
        return strings
    }

    /// Appends units as `ListUnitsByPatterns` lists them.
    private static func append(_ units: [String: [String: String]], to message: OpaquePointer) {
        sd_bus_message_open_container(message, code("a"), "(ssssssouso)")
        for (name, properties) in units {
            sd_bus_message_open_container(message, code("r"), "ssssssouso")
            let states = ["LoadState", "ActiveState", "SubState"].map { properties[$0] ?? "" }
            for text in [name, "a unit"] + states + [""] { sd_bus_message_append_basic(message, code("s"), text) }
            var job: UInt32 = 0
            sd_bus_message_append_basic(message, code("o"), FollowedUnit(name).path)
            sd_bus_message_append_basic(message, code("u"), &job)
            sd_bus_message_append_basic(message, code("s"), "")
            sd_bus_message_append_basic(message, code("o"), "/")
            sd_bus_message_close_container(message)
        }
        sd_bus_message_close_container(message)
    }

    private static func append(_ properties: [String: String], to message: OpaquePointer) {
        sd_bus_message_open_container(message, code("a"), "{sv}")
        for (name, value) in properties {
            sd_bus_message_open_container(message, code("e"), "sv")
            sd_bus_message_append_basic(message, code("s"), name)
            sd_bus_message_open_container(message, code("v"), "s")
            sd_bus_message_append_basic(message, code("s"), value)
            sd_bus_message_close_container(message)
            sd_bus_message_close_container(message)
        }
        sd_bus_message_close_container(message)
    }

    private static func code(_ type: Character) -> CChar { CChar(type.asciiValue ?? 0) }
}

private func takeMessage(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message, let context else { return 0 }
    let bus = Unmanaged<FakeBus>.fromOpaque(context).takeUnretainedValue()
    nonisolated(unsafe) let call = message
    EventLoop.assumeIsolated {
        if sd_bus_message_get_expect_reply(call) > 0 { bus.take(call) }
    }
    return 1
}
