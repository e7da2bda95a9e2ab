// SPDX-License-Identifier: Apache-2.0

import DequeModule
public import EventLoopIO

/// A stream of replies to one call.
@EventLoop
public final class VarlinkStream {
    private enum Ending {
        case reply(@EventLoop (inout JSONWriter) -> Void)
        case error(VarlinkError)
    }

    private enum State {
        /// There is nothing to write.
        case idle
        /// It waits for its turn to write.
        case queued
        /// It is writing; `isWoken` if it has to look for more afterwards.
        case writing(isWoken: Bool)
        /// There is more to write than there was room for.
        case full
    }

    /// What a stream has until it is closed.
    private final class Open {
        let connection: ServerConnection
        let produce: @EventLoop (inout JSONWriter) -> Bool
        let onClose: @EventLoop () -> Void

        init(
            _ connection: ServerConnection, _ produce: @escaping @EventLoop (inout JSONWriter) -> Bool,
            _ onClose: @escaping @EventLoop () -> Void
        ) {
            self.connection = connection
            self.produce = produce
            self.onClose = onClose
        }
    }

    private let call: VarlinkCall
    private var open: Open?
    private var state = State.idle
    /// The reply that is being written in pieces.
    private var pieces: MessageInPieces?
    /// The last reply, once it is known.
    private var ending: Ending?

    init(
        call: VarlinkCall, connection: ServerConnection, produce: @escaping @EventLoop (inout JSONWriter) -> Bool,
        onClose: @escaping @EventLoop () -> Void
    ) {
        self.call = call
        open = Open(connection, produce, onClose)
    }

    /// Whether the stream has ended or its client has left.
    public var isClosed: Bool { open == nil }

    /// Whether it waits for room.
    var isFull: Bool { if case .full = state { true } else { false } }

    /// Calls the producer at the end of this turn, because there may be something to write.
    ///
    /// Further calls in the same turn change nothing. If there are too many streams for one turn, the producer is
    /// called later.
    public func wake() {
        switch state {
        case .idle: enqueue()
        case .writing: state = .writing(isWoken: true)
        // A full stream continues when its client has read.
        case .queued, .full: break
        }
    }

    /// Calls the producer now if there is room, because its pending output will soon be lost.
    public func wakeNow() {
        guard let transport = open?.connection.transport else { return }
        // The client may have read since, which the loop has not noticed yet.
        if isFull { transport.flush() }
        if case .writing = state { return wake() }
        guard transport.unsentCount == 0 else { return wake() }
        state = .queued
        pump()
    }

    /// There is room again.
    func roomCame() { if isFull { enqueue() } }

    /// Lets the stream write when its turn comes.
    func enqueue() {
        if case .queued = state { return }
        guard let open else { return }
        state = .queued
        open.connection.service.streams.append(self)
    }

    /// Writes until there is nothing left or no room, if it has not written since it was queued.
    ///
    /// If the client keeps up, the rest waits for the stream's next turn.
    func pump() {
        guard case .queued = state, let open else { return }
        state = .writing(isWoken: false)
        let hasMore = fill(open)
        let transport = open.connection.transport
        transport.flush()
        if case .writing(let isWoken) = state, !isClosed {
            state = hasMore ? .full : .idle
            // The loop would report room only once three quarters of the socket are free again.
            if hasMore ? transport.unsentCount == 0 : isWoken { enqueue() }
        }
        open.connection.streamWrote(hasMore: hasMore)
    }

    /// Writes the next reply in pieces.
    ///
    /// The producer calls this and then returns false.
    ///
    /// - Parameter body: writes the next members of the reply's parameters, or part of one, and returns whether there
    ///   is more. It is called when there is room.
    public func writeInPieces(_ body: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        guard case .writing = state, pieces == nil else {
            preconditionFailure("only the producer begins a reply in pieces")
        }
        pieces = MessageInPieces(continues: true, body)
    }

    /// Ends the stream with one last reply, after everything that the producer has to write.
    ///
    /// - Parameter body: writes the members of the last reply's parameters.
    public func finish(_ body: @escaping @EventLoop (inout JSONWriter) -> Void = { _ in }) {
        guard ending == nil else { return }
        ending = .reply(body)
        wake()
    }

    /// Ends the stream with an error, at once.
    public func fail(_ error: VarlinkError) {
        guard open != nil else { return }
        ending = .error(error)
        if case .writing = state { return }
        if pieces == nil { end() }
    }

    /// Writes replies up to the limit; returns whether there may be more.
    private func fill(_ open: Open) -> Bool {
        let connection = open.connection
        guard connection.mayReply else { return false }
        let limit = connection.service.limits.maximumUnsentBytes
        repeat {
            // The caller does not check whether there is room.
            if pieces != nil, connection.transport.unsentCount >= limit { return true }
            if pieces != nil, writePieces(to: connection.transport, upTo: limit) { return true }
            let mayHaveMore = connection.transport.writeMessages(upTo: limit) { writer in
                if case .error = ending { return false }
                var isWritten = false
                writer.member("parameters") { isWritten = open.produce(&$0) }
                writer.member("continues", true)
                return isWritten
            }
            if mayHaveMore { return true }
        } while pieces != nil
        end()
        return false
    }

    /// Writes more of the reply in pieces; returns whether there is more.
    private func writePieces(to transport: Transport, upTo limit: Int) -> Bool {
        guard var message = pieces.take() else { return false }
        let hasMore = transport.write(&message, upTo: limit, within: TurnShare())
        if hasMore { pieces = message }
        return hasMore
    }

    /// Writes the last reply, if it is known.
    private func end() {
        guard open != nil, let ending else { return }
        close()
        switch ending {
        case .reply(let body): call.reply(body)
        case .error(let error): call.fail(error)
        }
    }

    /// Closes the stream, for any reason.
    func close() {
        pieces = nil
        open.take()?.onClose()
    }
}

/// The streams of a service that have something to write, in the order in which they were woken.
///
/// They write before the loop reads more input, so a client that keeps up misses nothing. If all streams together take
/// long, the rest continue in the next turn, so that other clients do not wait for all of them.
@EventLoop
final class StreamQueue: EndOfTurnWork {
    /// How much of a turn all streams together may take, in nanoseconds.
    private static let share: UInt64 = 20_000_000

    private var waiting: Deque<VarlinkStream> = []
    private var isScheduled = false

    /// Lets a stream write at the end of this turn, or when its turn comes.
    func append(_ stream: VarlinkStream) {
        waiting.append(stream)
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atEndOfTurn(self)
    }

    func turnEnds() {
        pump()
        if waiting.isEmpty { isScheduled = false } else { EventLoop.atNextTurn { self.turnEnds() } }
    }

    /// Lets each stream that waits write once.
    func pump() {
        let share = TurnShare(nanoseconds: Self.share)
        // A stream whose client reads as fast as it writes waits again, for the next turn.
        for _ in 0..<waiting.count {
            waiting.popFirst()?.pump()
            if share.isUsedUp { return }
        }
    }
}
