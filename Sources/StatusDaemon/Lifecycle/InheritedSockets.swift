// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SystemdClient

/// The sockets for clients that the service manager has opened.
struct InheritedSockets {
    private static let (controlName, privilegedName) = ("varlink", "privileged")

    /// The sockets that every user can connect to.
    let control: [OwnedDescriptor]
    /// The sockets that ordinary users cannot connect to.
    let privileged: [OwnedDescriptor]

    /// All sockets.
    var all: [OwnedDescriptor] { privileged + control }

    /// Takes the sockets, which is possible once; from here on clients cannot send descriptors.
    static func take() -> InheritedSockets {
        let sockets = InheritedSockets(
            control: ListeningSockets.inherited.take(named: controlName),
            privileged: ListeningSockets.inherited.take(named: privilegedName))
        for listener in sockets.all { UnixSocket.refuseDescriptors(listener.rawValue) }
        return sockets
    }

    /// Returns the sockets, so that they can be taken again.
    func giveBack() {
        ListeningSockets.inherited.giveBack(control, named: Self.controlName)
        ListeningSockets.inherited.giveBack(privileged, named: Self.privilegedName)
    }
}
