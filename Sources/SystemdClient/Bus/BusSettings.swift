// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// With whom a connection to a bus is to talk, and what of it is of use.
struct BusSettings: Sendable {
    private static let standardAddress = "unix:path=/run/dbus/system_bus_socket"

    /// The address of the system bus, as sd_bus_open_system(3) knows it.
    static var systemBus: String { ProcessEnvironment.current["DBUS_SYSTEM_BUS_ADDRESS"] ?? standardAddress }

    /// The address of the bus, such as `unix:path=/run/dbus/system_bus_socket`.
    let address: String
    /// The name on the bus of the one to talk with.
    let service: String
    /// The names of the properties that are of use.
    let wanted: Set<String>
    /// Says which signals are of use.
    let filter: BusFilter
}
