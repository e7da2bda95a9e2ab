// SPDX-License-Identifier: Apache-2.0

import Logging
import TestSupport
import Testing

@testable import EventLoopIO

@Suite("Limits in messages") struct LimitTextTests {
    @Test(
        "are in seconds, or in milliseconds if they have a fraction of a second",
        arguments: [
            (Duration.seconds(45), "45 s"), (.milliseconds(200), "200 ms"), (.milliseconds(1500), "1500 ms"),
            (.microseconds(20), "1 ms"), (.seconds(120), "120 s"),
        ])
    func text(_ limit: Duration, _ text: String) { #expect(limit.text == text) }
}

@Suite("Log messages that other processes cause")
@EventLoop struct LogLimiterTests {
    private func messages(_ recorder: LogRecorder) -> [String] { recorder.entries.map(\.message) }

    @Test("are logged at once, then once per interval with their number; after a quiet interval, at once again")
    func repeated() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .notice)
        for _ in 0..<1000 { limiter.log("refused alice", about: "alice") }
        limiter.log("refused bob", about: "bob")
        #expect(messages(recorder) == ["refused alice", "refused bob"])
        limiter.logRepetitions()
        #expect(messages(recorder).last == "refused alice (and 998 more such messages in the last 30 s)")
        limiter.log("refused bob", about: "bob")
        limiter.logRepetitions()
        #expect(messages(recorder).suffix(1) == ["refused bob"])
        limiter.log("refused alice", about: "alice")
        #expect(messages(recorder).count == 5)
    }

    @Test("are still counted, and not logged at once, while they continue")
    func continuing() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .notice)
        for _ in 0..<3 {
            for _ in 0..<10 { limiter.log("refused alice", about: "alice") }
            limiter.logRepetitions()
        }
        #expect(
            messages(recorder) == [
                "refused alice", "refused alice (and 8 more such messages in the last 30 s)",
                "refused alice (and 9 more such messages in the last 30 s)",
                "refused alice (and 9 more such messages in the last 30 s)",
            ])
    }

    @Test("are logged with their own cause: the interval ends with the newest omitted message")
    func newest() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .notice)
        for cause in ["a", "b", "c"] { limiter.log("failed: \(cause)", about: "reload") }
        limiter.logRepetitions()
        #expect(messages(recorder).first == "failed: a")
        #expect(messages(recorder).last == "failed: c (and 1 more such message in the last 30 s)")
        limiter.log("failed: d", about: "reload")
        limiter.logRepetitions()
        #expect(messages(recorder).last == "failed: d (in the last 30 s)")
    }

    @Test("have the priority of the newest omitted message")
    func newestLevel() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .warning, burst: 2)
        for _ in 0..<2 {
            limiter.log("lost", about: "units")
            limiter.log("found", about: "units", level: .notice)
        }
        limiter.logRepetitions()
        #expect(recorder.entries.map(\.level) == [.warning, .notice, .notice])
    }

    @Test("are not repeated once they no longer apply")
    func forgotten() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .notice)
        for _ in 0..<3 { limiter.log("no user alice", about: "alice") }
        limiter.forget("alice")
        limiter.logRepetitions()
        #expect(messages(recorder) == ["no user alice"])
    }

    @Test("are counted when the process ends")
    func end() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .notice)
        for _ in 0..<3 { limiter.log("refused alice", about: "alice") }
        LogLimiter.logAllRepetitions()
        #expect(messages(recorder).last == "refused alice (and 1 more such message in the last 30 s)")
    }

    @Test("are counted together if they have too many subjects")
    func manySubjects() {
        let recorder = LogRecorder()
        let limiter = LogLimiter(recorder.logger, .notice)
        for number in 0..<10_000 { limiter.log("refused \(number)", about: "\(number)") }
        #expect(messages(recorder).count == 65)
        limiter.logRepetitions()
        #expect(messages(recorder).last == "refused 9999 (and 9934 more such messages in the last 30 s)")
        #expect(messages(recorder).count == 66)
    }
}
