// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The bus and the service to talk with, and the data to receive.
struct BusSettings: Sendable {
    private static let standardAddress = "unix:path=/run/dbus/system_bus_socket"

    /// The address of the system bus, as for sd_bus_open_system(3).
    static var systemBus: String { ProcessEnvironment.current["DBUS_SYSTEM_BUS_ADDRESS"] ?? standardAddress }

    /// The address of the bus, such as `unix:path=/run/dbus/system_bus_socket`.
    let address: String
    /// The service's name on the bus.
    let service: String
    /// The names of the properties to read.
    let wanted: Set<String>
    /// Decides which signals to receive.
    let filter: BusFilter
}
