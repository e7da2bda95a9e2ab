// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// What a message that came over the bus says, as far as it is of use.
struct BusMessage: Sendable, Equatable {
    /// Why a call was not answered.
    struct Failure: Sendable, Equatable {
        /// What kind of failure it is, such as `org.freedesktop.DBus.Error.AccessDenied`.
        let name: String
        /// One phrase, without a dot at its end.
        let message: String
    }

    /// The unique name of who sent it; the bus sees to it that nobody takes another's.
    var sender: String?
    /// The object that a signal is of.
    var path: String?
    /// The signal's name.
    var member: String?
    /// Why the call was not answered; nil where it was.
    var failure: Failure?
    /// Its strings, in order.
    var strings: [String] = []
    /// Its truth value.
    var truth: Bool?
    /// The strings, numbers and truth values of its dictionary, as text; those that are wanted.
    var properties: [String: String] = [:]
    /// Its array of strings.
    var list: [String] = []
    /// The states of units that it lists, by their own names; those that are of interest.
    var units: [String: ListedStates] = [:]

    /// How a truth value that is true stands among properties.
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
    /// The unit that was not started, if a signal that a job has ended says so: its strings are the job, the unit, and the result.
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
