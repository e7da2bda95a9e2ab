// SPDX-License-Identifier: Apache-2.0

public import Systemd

/// A call that is answered by more than one reply.
@EventLoop
public final class VarlinkStream {
    private enum Ending {
        case reply(@EventLoop (inout JSONWriter) -> Void)
        case error(VarlinkError)
    }

    /// How many times one pump fills the output before the loop turns to other work.
    ///
    /// With the low-water mark of 64 KiB this is 1 MiB, which a fast reader can take without keeping others waiting for long.
    private static let fillsPerPump = 16

    private let call: VarlinkCall
    /// Until the stream is closed.
    private var connection: ServerConnection?
    private var produce: (@EventLoop (inout JSONWriter) -> Bool)?
    private var onClose: (@EventLoop () -> Void)?
    /// What the last reply will be.
    private var ending: Ending?
    private var isPumpScheduled = false
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
        var fills = 0
        repeat {
            isHungry = fill(connection)
            connection.transport.flush()
            fills += 1
        } while isHungry && connection.transport.output.count == 0 && fills < Self.fillsPerPump
        connection.updateInterest()
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
        if !isProducing { end() }
    }

    /// Writes replies up to the low-water mark; returns whether there may be more.
    private func fill(_ connection: ServerConnection) -> Bool {
        guard let produce, connection.mayReply else { return false }
        isProducing = true
        let mayHaveMore = connection.transport.writeMessages(upTo: connection.service.limits.lowWaterBytes) { writer in
            if case .error = ending { return false }
            var isWritten = false
            writer.member("parameters") { isWritten = produce(&$0) }
            writer.member("continues", true)
            return isWritten
        }
        isProducing = false
        if !mayHaveMore { end() }
        return mayHaveMore
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
        connection = nil
        isHungry = false
        self.onClose = nil
        onClose?()
    }
}
