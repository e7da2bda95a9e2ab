// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A call that is answered by more than one reply.
@EventLoop
public final class VarlinkStream {
    private enum Ending {
        case reply(@EventLoop (inout JSONWriter) -> Void)
        case error(VarlinkError)
    }

    private let call: VarlinkCall
    /// Until the stream is closed.
    private var connection: ServerConnection?
    private var produce: (@EventLoop (inout JSONWriter) -> Bool)?
    private var onClose: (@EventLoop () -> Void)?
    /// The reply that is being written piece by piece.
    private var pieces: MessageInPieces?
    /// What the last reply will be.
    private var ending: Ending?
    /// Whether it waits for its turn to write.
    private(set) var isQueued = false
    private var isProducing = false
    /// Whether there may be something to write that there was no room for.
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

    /// Whether the stream has ended or its client is gone.
    public var isClosed: Bool { produce == nil }

    /// Says that there may be something to write: it is asked for at the end of this turn of the loop, once however often this is called; later
    /// where there are so many streams that a turn has no time for all.
    public func wake() {
        // A hungry stream is asked when its client has read.
        if !isHungry { enqueue() }
    }

    /// Says that what there is to write will soon be lost: it is asked for now, if there is room for it and the turn has the time, and
    /// what is brought in is held up for a moment if it has not (``FlowControl``).
    public func wakeNow() {
        // Its client may have read meanwhile, which the loop has not come to yet.
        if isHungry, let connection {
            connection.transport.flush()
            if connection.transport.unsentCount == 0 { enqueue() }
            if isBeingSent { connection.service.streams.awaitSending(of: self) }
        }
        wake()
        if isQueued { connection?.service.streams.catchUp() }
    }

    /// Whether what it has written is being sent by other threads, and its client takes it.
    var isBeingSent: Bool { connection?.transport.isBeingSent ?? false }

    /// Has the stream write when its turn comes.
    func enqueue() {
        guard !isQueued, produce != nil, let connection else { return }
        isQueued = true
        connection.service.streams.append(self, of: connection.account)
    }

    /// Its turn has come.
    func takeTurn() {
        isQueued = false
        connection?.service.streams.endAwaiting(of: self)
        connection?.goOn(with: self)
    }

    /// Writes until nothing is left to say, or there is no room; if the client reads as fast as it is written to, the rest has to wait for its turn.
    func pump() {
        guard let connection, produce != nil, !isProducing else { return }
        isHungry = fill(connection)
        connection.transport.flush()
        // Not when there is room: the kernel reports that only once three quarters of the socket are free again.
        if isHungry, connection.transport.unsentCount == 0 { enqueue() }
        connection.settle()
    }

    /// Writes the next reply piece by piece; to be called by the producer, which then returns false.
    ///
    /// - Parameter body: writes the next members of the reply's parameters, or a part of one, and returns whether there is more. It is called
    ///   when there is room.
    public func writeInPieces(_ body: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        precondition(isProducing && pieces == nil, "a reply in pieces is begun by the producer")
        pieces = MessageInPieces(continues: true, body)
    }

    /// Ends the stream: what there still is to be written comes first, then one last reply, whose parameters `body` writes.
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

    /// Writes replies up to the bound; returns whether there may be more.
    private func fill(_ connection: ServerConnection) -> Bool {
        guard let produce, connection.mayReply else { return false }
        isProducing = true
        defer { isProducing = false }
        let limit = connection.service.limits.maximumUnsentBytes
        repeat {
            // Whoever pumps need not know whether there is room.
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

    /// Goes on with the reply in pieces; returns whether there is more of it.
    private func writePieces(to transport: Transport, upTo limit: Int) -> Bool {
        guard var message = pieces.take() else { return false }
        let hasMore = transport.write(&message, upTo: limit, within: TurnShare())
        if hasMore { pieces = message }
        return hasMore
    }

    /// Writes the last reply where there is one.
    private func end() {
        guard produce != nil, let ending else { return }
        close()
        switch ending {
        case .reply(let body): call.reply(body)
        case .error(let error): call.fail(error)
        }
    }

    /// The stream has ended, for whatever reason.
    func close() {
        let onClose = onClose
        connection?.service.streams.endAwaiting(of: self)
        produce = nil
        pieces = nil
        connection = nil
        isHungry = false
        self.onClose = nil
        onClose?()
    }
}
