// SPDX-License-Identifier: Apache-2.0

public import Systemd

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
    /// Whether it will be pumped without anybody's doing.
    private(set) var isPumpScheduled = false
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

    /// Says that there may be something to write: it is asked for at the end of this turn of the loop, once however often this is called.
    public func wake() {
        // A hungry stream is asked when its client has read.
        guard !isPumpScheduled, !isHungry, produce != nil else { return }
        isPumpScheduled = true
        EventLoop.atEndOfTurn { self.pump() }
    }

    /// Writes now, instead of at the end of the turn, until nothing is left to say or the socket is full.
    ///
    /// One turn of the loop may read many more calls than one filling of the output has replies. A stream that stopped after one
    /// filling would fall behind, even if its client reads as fast as it can.
    public func pump() {
        isPumpScheduled = false
        guard let connection, produce != nil, !isProducing else { return }
        isHungry = fill(connection)
        connection.transport.flush()
        if isHungry { fillAgain(connection) }
        connection.updateInterest()
    }

    /// Goes on for as long as the client reads as fast as it is written to, and the stream's share of the turn lasts.
    private func fillAgain(_ connection: ServerConnection) {
        let share = TurnShare()
        while isHungry, connection.transport.output.count == 0 {
            // Not when there is room: the kernel reports that only once three quarters of the socket are free again.
            if share.isUsedUp { return pumpNextTurn() }
            isHungry = fill(connection)
            connection.transport.flush()
        }
    }

    private func pumpNextTurn() {
        isPumpScheduled = true
        EventLoop.atNextTurn {
            self.isPumpScheduled = false
            self.connection?.goOn(with: self)
        }
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
            if pieces != nil, connection.transport.output.count >= limit { return true }
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
        produce = nil
        pieces = nil
        connection = nil
        isHungry = false
        self.onClose = nil
        onClose?()
    }
}
