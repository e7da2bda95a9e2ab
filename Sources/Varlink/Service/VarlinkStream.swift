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

    private let call: VarlinkCall
    /// Nil once the stream is closed.
    private var connection: ServerConnection?
    private var produce: (@EventLoop (inout JSONWriter) -> Bool)?
    private var onClose: (@EventLoop () -> Void)?
    /// The reply that is being written in pieces.
    private var pieces: MessageInPieces?
    /// The last reply, once it is known.
    private var ending: Ending?
    /// Whether it waits for its turn to write.
    private(set) var isQueued = false
    private var isProducing = false
    /// Whether there may be more to write than there was room for.
    private(set) var isHungry = false

    init(
        call: VarlinkCall, connection: ServerConnection?, produce: @escaping @EventLoop (inout JSONWriter) -> Bool,
        onClose: @escaping @EventLoop () -> Void
    ) {
        self.call = call
        self.connection = connection
        self.produce = produce
        self.onClose = onClose
    }

    /// Whether the stream has ended or its client has left.
    public var isClosed: Bool { produce == nil }

    /// Calls the producer at the end of this turn, because there may be something to write.
    ///
    /// Further calls in the same turn change nothing. If there are too many streams for one turn, the producer is
    /// called later.
    public func wake() {
        // A hungry stream continues when its client has read.
        if !isHungry { enqueue() }
    }

    /// Calls the producer now if there is room, because its pending output will soon be lost.
    public func wakeNow() {
        // The client may have read since, which the loop has not noticed yet.
        if isHungry { connection?.transport.flush() }
        if connection?.transport.unsentCount == 0 { pump() } else { wake() }
    }

    /// Queues the stream to write when its turn comes.
    func enqueue() {
        guard !isQueued, produce != nil, let connection else { return }
        isQueued = true
        connection.service.streams.append(self)
    }

    /// Its turn has come.
    func takeTurn() {
        isQueued = false
        connection?.pump(self)
    }

    /// Writes until there is nothing left or no room.
    ///
    /// If the client keeps up, the rest waits for the stream's next turn.
    func pump() {
        guard let connection, produce != nil, !isProducing else { return }
        isHungry = fill(connection)
        connection.transport.flush()
        // The loop would report room only once three quarters of the socket are free again.
        if isHungry, connection.transport.unsentCount == 0 { enqueue() }
        connection.settle()
    }

    /// Writes the next reply in pieces.
    ///
    /// The producer calls this and then returns false.
    ///
    /// - Parameter body: writes the next members of the reply's parameters, or part of one, and returns whether there
    ///   is more. It is called when there is room.
    public func writeInPieces(_ body: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        precondition(isProducing && pieces == nil, "only the producer begins a reply in pieces")
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
        guard produce != nil else { return }
        ending = .error(error)
        if !isProducing, pieces == nil { end() }
    }

    /// Writes replies up to the limit; returns whether there may be more.
    private func fill(_ connection: ServerConnection) -> Bool {
        guard let produce, connection.mayReply else { return false }
        isProducing = true
        defer { isProducing = false }
        let limit = connection.service.limits.maximumUnsentBytes
        repeat {
            // The caller does not check whether there is room.
            if pieces != nil, connection.transport.unsentCount >= limit { return true }
            if pieces != nil, writePieces(to: connection.transport, upTo: limit) { return true }
            let mayHaveMore = connection.transport.writeMessages(upTo: limit) { writer in
                if case .error = ending { return false }
                var isWritten = false
                writer.member("parameters") { isWritten = produce(&$0) }
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
        guard produce != nil, let ending else { return }
        close()
        switch ending {
        case .reply(let body): call.reply(body)
        case .error(let error): call.fail(error)
        }
    }

    /// Closes the stream, for any reason.
    func close() {
        let onClose = onClose
        produce = nil
        pieces = nil
        connection = nil
        isHungry = false
        self.onClose = nil
        onClose?()
    }
}

/// The streams of a service that have something to write, in the order in which they were woken.
///
/// They write before the loop reads more input, so a client that keeps up misses nothing. If all streams together take
/// long, the rest continue in the next turn, so that other clients do not wait for all of them.
@EventLoop
final class StreamQueue {
    /// How much of a turn all streams together may take, in nanoseconds.
    private static let share: UInt64 = 20_000_000

    private var waiting: Deque<VarlinkStream> = []
    private var isScheduled = false

    /// Lets a stream write at the end of this turn, or when its turn comes.
    func append(_ stream: VarlinkStream) {
        waiting.append(stream)
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atEndOfTurn { self.pumpScheduled() }
    }

    private func pumpScheduled() {
        pump()
        if waiting.isEmpty { isScheduled = false } else { EventLoop.atNextTurn { self.pumpScheduled() } }
    }

    /// Lets each stream that waits write once.
    func pump() {
        let share = TurnShare(nanoseconds: Self.share)
        // A stream whose client reads as fast as it writes waits again, for the next turn.
        for _ in 0..<waiting.count {
            guard !share.isUsedUp else { return }
            waiting.popFirst()?.takeTurn()
        }
    }
}
