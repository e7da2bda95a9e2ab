// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Synchronization

/// A thread that talks with one service over the system bus, as long as the connection lasts.
///
/// Any local user can send this process messages that take sd-bus long to read: 30 MB take a tenth of a second. So the
/// loop does not read from the bus. The thread passes on what the service and the bus send. Of other senders it reports
/// only that they sent something.
final class BusThread: Sendable {
    /// What the thread reports to the loop.
    enum Event: Sendable {
        /// The reply or the error for the call with this number.
        case reply(Int, BusMessage)
        /// A signal of the service or of the bus.
        case signal(BusMessage)
        /// Other processes sent messages, or made the service send many signals; or signals were dropped.
        ///
        /// The first two are reported at most once a second.
        case disturbed
        /// The connection is lost, for this reason; no other event follows.
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
    ///   - settings: the bus and the service.
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

    /// Ends the connection without flushing it.
    func close() { wake { $0.isClosed = true } }

    private func wake(_ change: (inout Inbox) -> Void) {
        inbox.withLock { change(&$0) }
        eventfd_write(wakeUp.rawValue, 1)
    }

    /// Takes the oldest event; after nil, the thread announces the next one.
    func nextEvent() -> Event? { events.withLock { $0.next() } }

    private func receive(_ event: Event) {
        if events.withLock({ $0.add(event) }) { announce() }
    }

    private func run(_ settings: BusSettings) {
        pthread_setname_np(pthread_self(), "systemd-bus")
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

    /// Takes the new calls; nil if the connection has been closed.
    private func takeCalls() -> [BusCall]? {
        inbox.withLock { inbox in
            defer { inbox.calls = [] }
            return inbox.isClosed ? nil : inbox.calls
        }
    }
}

/// A call of a method that takes strings.
struct BusCall: Sendable {
    /// The number that identifies its reply.
    var number = 0
    /// The receiver and the method.
    let destination, path, interface, member: String
    let arguments: [String]
    /// How long to wait for the reply.
    let timeout: Duration
}
