// SPDX-License-Identifier: Apache-2.0

public import Systemd

/// A call that is answered by more than one reply.
@EventLoop
public final class VarlinkStream {
    private let call: VarlinkCall
    private weak var connection: ServerConnection?
    private var produce: (@EventLoop (inout JSONWriter) -> Bool)?
    private var onClose: (@EventLoop () -> Void)?
    private var isPumpScheduled = false
    /// Whether there may be something to write that there was no room for.
    private(set) var isHungry = false

    init(
        call: VarlinkCall, connection: ServerConnection, produce: @escaping @EventLoop (inout JSONWriter) -> Bool,
        onClose: @escaping @EventLoop () -> Void
    ) {
        self.call = call
        self.connection = connection
        self.produce = produce
        self.onClose = onClose
    }

    /// Says that there may be something to write: it is asked for at the end of this turn of the loop, once however often this is called.
    public func wake() {
        guard !isPumpScheduled, produce != nil else { return }
        isPumpScheduled = true
        EventLoop.atEndOfTurn { [weak self] in
            self?.isPumpScheduled = false
            self?.pump()
        }
    }

    /// Writes what there is and hands it to the socket now, as far as there is room.
    public func pump() {
        guard let connection else { return }
        repeat {
            isHungry = fill(connection)
        } while connection.transport.flush() && isHungry
    }

    /// Ends the stream with an error.
    public func fail(_ error: VarlinkError) {
        guard produce != nil else { return }
        close()
        call.fail(error)
    }

    /// Writes replies up to the low-water mark; returns whether there may be more.
    private func fill(_ connection: ServerConnection) -> Bool {
        let transport = connection.transport
        while let produce, transport.isOpen {
            guard transport.output.count < connection.service.limits.lowWaterBytes else { return true }
            let start = transport.output.count
            var hasReply = false
            transport.withWriter { writer in
                writer.object { writer in
                    writer.member("parameters") { hasReply = produce(&$0) }
                    writer.member("continues", true)
                }
            }
            guard hasReply else {
                transport.output.truncate(to: start)
                return false
            }
            transport.output.append(0)
        }
        return false
    }

    /// The stream has ended.
    func close() {
        produce = nil
        let onClose = onClose
        self.onClose = nil
        onClose?()
    }
}
