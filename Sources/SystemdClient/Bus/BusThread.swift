// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Synchronization

/// A thread that talks over the system bus with one service, as long as the connection lasts.
///
/// Any local user can send this process what sd-bus takes long to read: a message of 30 MB takes a tenth of a second. So the loop does not read from the
/// bus. It is given what the service and the bus themselves say, and no more of the others than that they have said something.
final class BusThread: Sendable {
    /// What the loop is told.
    enum Event: Sendable {
        /// The reply to the call with this number, or the error that takes its place.
        case reply(Int, BusMessage)
        /// A signal of the service, or of the bus.
        case signal(BusMessage)
        /// Others have sent something, or had the service send much, which is told once in a while; or so many signals came that some were dropped.
        case disturbed
        /// There will be nothing else, for this reason.
        case lost(String)
    }

    private struct Inbox {
        var calls: [BusCall] = []
        var isClosed = false
    }

    private let inbox = Mutex(Inbox())
    private let events = Mutex(BusEvents())
    private let wakeUp: OwnedDescriptor
    private let announce: @Sendable () -> Void

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - settings: with whom to talk.
    ///   - announce: called on the thread when there are events again.
    init(_ settings: BusSettings, announce: @escaping @Sendable () -> Void) throws(IOError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot reach the system bus") }
        wakeUp = OwnedDescriptor(adopting: descriptor)
        self.announce = announce
        BlockingThread.start { self.run(settings) }
    }

    /// Sends a call.
    func send(_ call: BusCall) { wake { $0.calls.append(call) } }

    /// Ends the connection; nothing is flushed.
    func close() { wake { $0.isClosed = true } }

    private func wake(_ change: (inout Inbox) -> Void) {
        inbox.withLock { change(&$0) }
        eventfd_write(wakeUp.rawValue, 1)
    }

    /// Takes the oldest event; nil if there is none, until there are announced some.
    func nextEvent() -> Event? { events.withLock { $0.next() } }

    private func receive(_ event: Event) {
        if events.withLock({ $0.add(event) }) { announce() }
    }

    private func run(_ settings: BusSettings) {
        pthread_setname_np(pthread_self(), "statusd-bus")
        do throws(IOError) {
            let session = try BusSession(settings, receive: receive)
            while let calls = takeCalls() {
                for call in calls { try session.send(call) }
                if try !session.process() { session.wait(or: wakeUp) }
            }
        } catch {
            receive(.lost(error.message))
        }
    }

    /// The calls that have come; nil if the connection has been closed.
    private func takeCalls() -> [BusCall]? {
        inbox.withLock { inbox in
            defer { inbox.calls = [] }
            return inbox.isClosed ? nil : inbox.calls
        }
    }
}

/// A method to be called that takes strings.
struct BusCall: Sendable {
    /// The number by which the reply is known.
    var number = 0
    /// Whom it is for, and what it asks.
    let destination, path, interface, member: String
    let arguments: [String]
    /// How long to wait for the reply.
    let timeout: Duration
}
