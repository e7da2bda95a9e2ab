// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Synchronization

/// The thread that follows units over the system bus (``ManagerWatch``), with growing pauses between lost connections.
final class UnitThread: Sendable {
    /// A report from the thread to the loop.
    enum Report: Sendable {
        /// What is known about a unit or a query, which answers all requests for it up to this number.
        case news(UnitSubject, UnitReport, answers: Int)
        /// Units are followed: the service manager has answered.
        case works
        /// Nothing is known for this reason, until ``works``.
        case lost(String)
    }

    /// The changes that the loop has made.
    private struct Inbox {
        /// What is followed, and the newest request to read each; 0 for none.
        var requests: [UnitSubject: Int] = [:]
        /// Those whose entry has changed.
        var changed: [UnitSubject] = []
        var isEnded = false
    }

    private static let (shortestPause, longestPause) = (Duration.milliseconds(100), Duration.seconds(5))

    private let inbox = Mutex(Inbox())
    private let wakeUp: OwnedDescriptor
    private let handler: @Sendable (UnitThread, Report) -> Void

    /// Begins to connect; the handler is called on the thread.
    init(
        on address: String, limits: ManagerWatch.Limits, handler: @escaping @Sendable (UnitThread, Report) -> Void
    ) throws(IOError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot reach the system bus") }
        wakeUp = OwnedDescriptor(adopting: descriptor)
        self.handler = handler
        BlockingThread.start { self.run(address, limits) }
    }

    // MARK: For the loop

    /// Reads a unit or a query's answer, and follows it from now on.
    func read(_ subject: UnitSubject, request: Int = 0) { change(subject) { $0.requests[subject] = request } }

    func unfollow(_ subject: UnitSubject) { change(subject) { $0.requests[subject] = nil } }

    /// Ends the thread soon.
    func end() { change { $0.isEnded = true } }

    private func change(_ subject: UnitSubject? = nil, _ change: (inout Inbox) -> Void) {
        inbox.withLock { inbox in
            change(&inbox)
            if let subject { inbox.changed.append(subject) }
        }
        eventfd_write(wakeUp.rawValue, 1)
    }

    // MARK: For the thread

    func report(_ report: Report) { handler(self, report) }

    /// Takes the units and queries whose entry has changed, or all followed ones.
    ///
    /// Each comes with the newest request for it, or nil if it is no longer followed.
    ///
    /// - Throws: if the thread must end.
    func takeChanges(all: Bool = false) throws(IOError) -> [(subject: UnitSubject, request: Int?)] {
        let taken = inbox.withLock { inbox in
            defer { inbox.changed = [] }
            let subjects = all ? Array(inbox.requests.keys) : inbox.changed
            return inbox.isEnded ? nil : subjects.map { ($0, inbox.requests[$0]) }
        }
        guard let taken else { throw IOError(.systemCall, "no unit is followed any more") }
        return taken
    }

    /// Waits until `other` is ready, until the loop has changed something, or until `time`.
    func wait(
        for other: pollfd = pollfd(fd: -1, events: 0, revents: 0), until time: SuspendingClock.Instant
    ) {
        var polled = [other, pollfd(fd: wakeUp.rawValue, events: Int16(POLLIN), revents: 0)]
        let rest = max(.zero, time - .now) / .milliseconds(1)
        poll(&polled, 2, Int32(clamping: Int(rest.rounded(.up))))
        var count: UInt64 = 0
        if polled[1].revents != 0 { eventfd_read(wakeUp.rawValue, &count) }
    }

    private var isEnded: Bool { inbox.withLock(\.isEnded) }

    private func run(_ address: String, _ limits: ManagerWatch.Limits) {
        pthread_setname_np(pthread_self(), "systemd-bus")
        var pause = Self.shortestPause
        while !isEnded {
            var hasWorked = false
            do throws(IOError) {
                try ManagerWatch(self, on: address, limits).run { hasWorked = true }
            } catch {
                if !isEnded { report(.lost(error.message)) }
            }
            if hasWorked { pause = Self.shortestPause }
            let end = SuspendingClock.now + pause
            while !isEnded, SuspendingClock.now < end { wait(until: end) }
            pause = min(pause * 2, Self.longestPause)
        }
    }
}
