// SPDX-License-Identifier: Apache-2.0

import StatusModel

@testable import StatusSources

/// Datagrams of sd_notify(3), each of which ends in a record separator (0x1E), from several users in turn.
enum NotifyFuzzing {
    static func check(_ input: [UInt8]) {
        var state = NotifyState()
        var senders: Set<UInt32> = []
        for (index, datagram) in input.split(separator: 0x1E, omittingEmptySubsequences: false).enumerated() {
            let datagram = Array(datagram)
            guard let message = message(datagram) else {
                expect(datagram.count >= 128, "only a datagram of many lines is refused")
                continue
            }
            checkLines(datagram, message)
            // One user's program, then another's.
            let sender = UInt32(index % 11)
            senders.insert(sender)
            check(state.take(message, from: sender), to: message)
        }
        state.forget(senders)
        let word = state.take(NotifyMessage(status: ""), from: 0)
        expect(word == StatusText(fitting: "running").map { .post($0, .ok) }, "what is forgotten has no effect")
    }

    private static func message(_ datagram: [UInt8]) -> NotifyMessage? {
        datagram.withUnsafeBytes { NotifyMessage($0) }
    }

    /// Of two values the first one counts, and of two conditions the last one; unknown names have no effect.
    private static func checkLines(_ datagram: [UInt8], _ message: NotifyMessage) {
        if let longer = self.message(Array("X=1\n".utf8) + datagram) {
            expect(longer == message, "an unknown name has no effect")
        }
        let separators = datagram.indices.filter { [0x0A, 0x0D, 0].contains(datagram[$0]) }
        guard let middle = separators.dropFirst(separators.count / 2).first,
            let head = self.message(Array(datagram[..<middle])),
            let tail = self.message(Array(datagram[(middle + 1)...]))
        else { return }
        let errorNumber = head.errorNumber ?? tail.errorNumber
        var condition = tail.condition ?? head.condition
        if case .failed = condition { condition = errorNumber.map { .failed($0) } }
        let both = NotifyMessage(
            status: head.status ?? tail.status, condition: condition, errorNumber: errorNumber,
            isAlive: head.isAlive || tail.isAlive, watchdogTime: head.watchdogTime ?? tail.watchdogTime)
        expect(both == message, "the first value and the last condition count: \(both), \(message)")
    }

    private static func check(_ reaction: NotifyState.Reaction, to message: NotifyMessage) {
        switch reaction {
        case .post(let text, let level):
            TextProperties.expectValid(text)
            switch message.condition {
            case .failed, .unwell: expect(level == .critical, "a failure is critical")
            case .stopping: expect(level == .warning, "a program that stops is a warning")
            case .ready, .reloading: expect(level == .ok, "a program that is ready is well")
            case nil: expect(message.status != nil, "only a text or a condition is a status")
            }
        case .touch: expect(message.isAlive, "only a keep-alive keeps a status")
        case .nothing: expect(message.status == nil && message.condition == nil, "a text or a condition is a status")
        }
        if let time = message.watchdogTime { expect(time == .zero || time >= .milliseconds(100), "a sensible time") }
    }
}

extension NotifyMessage {
    fileprivate init(
        status: String?, condition: Condition? = nil, errorNumber: Int32? = nil, isAlive: Bool = false,
        watchdogTime: Duration? = nil
    ) {
        guard let empty = NotifyMessage(UnsafeRawBufferPointer(start: nil, count: 0)) else {
            fatalError("an empty datagram is a message")
        }
        self = empty
        self.status = status
        self.condition = condition
        self.errorNumber = errorNumber
        self.isAlive = isAlive
        self.watchdogTime = watchdogTime
    }
}
