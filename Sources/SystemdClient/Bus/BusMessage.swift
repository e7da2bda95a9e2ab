// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// The part of a message from the bus that this module uses.
struct BusMessage: Sendable, Equatable {
    /// Why a call failed.
    struct Failure: Sendable, Equatable {
        /// The name of the error, such as `org.freedesktop.DBus.Error.AccessDenied`.
        let name: String
        /// One phrase without a full stop.
        let message: String
    }

    /// The unique name of the sender, which the bus guarantees.
    var sender: String?
    /// The object that sent the signal.
    var path: String?
    /// The name of the signal or method.
    var member: String?
    /// Why the call failed; nil if it did not.
    var failure: Failure?
    /// Its strings, in order.
    var strings: [String] = []
    /// Its boolean.
    var truth: Bool?
    /// The requested strings, numbers and booleans of its dictionary, as text.
    var properties: [String: String] = [:]
    /// Its array of strings.
    var list: [String] = []
    /// The states of followed units in its list, by their own names.
    var units: [String: ListedStates] = [:]

    /// How `true` is written among properties.
    static let truth = "yes"
}

extension BusMessage {
    /// Reads the header of one of sd-bus's messages.
    init(headerOf message: OpaquePointer) {
        sender = sd_bus_message_get_sender(message).map { String(cString: $0) }
        path = sd_bus_message_get_path(message).map { String(cString: $0) }
        member = sd_bus_message_get_member(message).map { String(cString: $0) }
    }

    /// Reads the contents of the message, or its error.
    ///
    /// - Parameters:
    ///   - wanted: the names of the properties to read.
    ///   - filter: decides which units to read from a list.
    mutating func readContents(of message: OpaquePointer, wanted: Set<String> = [], filter: BusFilter? = nil) {
        failure = sd_bus_message_get_error(message).flatMap { Failure($0.pointee) }
        let reader = BusReader(message)
        while let type = reader.nextType {
            switch type {
            case "s", "o": if let string = reader.string() { strings.append(string) } else { return }
            case "b": truth = reader.boolean()
            case "as": list = reader.strings()
            case "a{sv}": properties = reader.properties(wanted)
            case "a(\(ListedStates.listing))": units = ListedStates.listed(reader) { filter?.contains($0) ?? false }
            default: if !reader.skip(type) { return }
            }
        }
    }
}

extension BusMessage {
    /// The unit that could not be started, if the signal reports that a job has ended.
    ///
    /// Such a signal's strings are the job, the unit and the result.
    var startFailure: (unit: String, UnitProperties.StartFailure)? {
        guard strings.count == 3, let failure = UnitProperties.StartFailure(rawValue: strings[2]) else { return nil }
        return (strings[1], failure)
    }
}

extension BusMessage.Failure {
    fileprivate init?(_ error: sd_bus_error) {
        guard let name = error.name else { return nil }
        var text = String(cString: error.message ?? name)
        while text.last == "." { text.removeLast() }
        self.init(name: String(cString: name), message: text)
    }
}
