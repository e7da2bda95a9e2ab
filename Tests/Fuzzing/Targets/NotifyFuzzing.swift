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
                expect(datagram.count >= 128 || datagram.dropLast().contains(0), "only many lines or a NUL are refused")
                continue
            }
            checkLines(datagram, message)
            // One user's program, then another's.
            let sender = UInt32(index % 11)
            senders.insert(sender)
            check(state.take(message, from: sender), to: message)
        }
        state.forget(senders)
        guard let empty = message(Array("STATUS=".utf8)) else { fatalError("an empty status is a message") }
        let word = state.take(empty, from: 0)
        expect(word == StatusText(fitting: "running").map { .post($0, .ok) }, "what is forgotten has no effect")
    }

    private static func message(_ datagram: [UInt8]) -> NotifyMessage? {
        datagram.withUnsafeBytes { NotifyMessage($0) }
    }

    /// Unknown names and empty lines have no effect, and the same lines again change nothing.
    private static func checkLines(_ datagram: [UInt8], _ message: NotifyMessage) {
        let spaced = [0x0D] + datagram.flatMap { $0 == 0x0A ? [0x0D, 0x0A, 0x0A] : [$0] } as [UInt8]
        for other in [Array("X=1\n".utf8) + datagram, datagram + [0x0A] + datagram, spaced] {
            if let other = self.message(other) { expect(other == message, "the same meaning: \(other), \(message)") }
        }
        if let stopping = self.message(Array("STOPPING=1\n".utf8) + datagram) {
            expect(stopping.isFailure || stopping.condition == .stopping, "nothing but a failure is worse")
            expect(stopping.isFailure == message.isFailure, "a failure counts in any order")
        }
    }

    private static func check(_ reaction: NotifyState.Reaction, to message: NotifyMessage) {
        switch reaction {
        case .post(let text, let level):
            TextProperties.expectValid(text)
            switch message.condition {
            case .failed, .unwell: expect(level == .critical, "a failure is critical")
            case .stopping: expect(level != .ok, "a program that stops is a warning, or has failed before")
            case .reloading: expect(level != .warning, "a program that reloads is well, or has failed before")
            case .ready: expect(level == .ok, "a program that is ready is well")
            case nil: expect(message.status != nil, "only a text or a condition is a status")
            }
        case .touch:
            let isKept = message.condition == .stopping || message.condition == .reloading
            expect(message.isAlive || isKept, "only a sign of life keeps a status")
        case .nothing: expect(message.status == nil && message.condition == nil, "a text or a condition is a status")
        }
        if let time = message.watchdogTime { expect(time == .zero || time >= .milliseconds(100), "a sensible time") }
    }
}

extension NotifyMessage {
    fileprivate var isFailure: Bool {
        switch condition {
        case .failed, .unwell: true
        case .ready, .reloading, .stopping, nil: false
        }
    }
}
