// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import StatusWorkers

@testable import StatusSources
@testable import Varlink

/// The end of a plugin: two bytes for its exit status or signal, then its output, 0xFF, and its standard error.
enum PluginFuzzing {
    static func check(_ input: [UInt8]) {
        let streams = input.dropFirst(2).split(separator: 0xFF, maxSplits: 1, omittingEmptySubsequences: false)
        let texts = streams.map { String(decoding: $0, as: UTF8.self) }
        let number = Int(input.dropFirst().first ?? 0)
        let ending: PluginOutcome.Ending = input.first.map { $0 & 1 == 1 } == true ? .signaled(number) : .exited(number)
        let outcome = PluginOutcome(ending, output: texts.first ?? "", errors: texts.dropFirst().first ?? "")
        let received = received(outcome)
        checkTransfer(outcome, received)
        checkResult(of: received, ending)
        for text in texts { checkText(text) }
    }

    /// The outcome as the daemon reads it from the worker.
    private static func received(_ outcome: PluginOutcome) -> PluginOutcome {
        var writer = JSONWriter()
        writer.value(outcome)
        let read = try? JSONReader.read(writer.bytes) { reader throws(JSONError) in try PluginOutcome(from: &reader) }
        guard let read else { fatalError("broken property: what the worker sends can be read") }
        return read
    }

    private static func checkTransfer(_ outcome: PluginOutcome, _ received: PluginOutcome) {
        expect(received.ending == outcome.ending, "the same end")
        for (sent, text) in [(outcome.output, received.output), (outcome.errors, received.errors)] {
            expect(text.utf8.elementsEqual(StreamSafeText.text(sent).utf8), "the same text, but safe to compare")
            TextProperties.expectCheapToCompare(text)
        }
    }

    private static func checkResult(of outcome: PluginOutcome, _ ending: PluginOutcome.Ending) {
        let result = try? outcome.result(of: "plugin", timeout: .seconds(1))
        guard let result else { return expect(outcome.output.isEmpty, "a plugin that wrote something has a result") }
        for value in result.values { TextProperties.expectVisible(value.text) }
        let levels: [Level] = [.ok, .warning, .critical, .unknown]
        switch ending {
        case .exited(let status) where levels.indices.contains(status):
            expect(result.level == levels[status], "the exit status is the level")
            expect(result.text.utf8.count <= StatusText.maximumLength, "the text fits")
        default: expect(result.level == .unknown, "everything else is unknown")
        }
        guard let text = StatusText(fitting: result.text) else { return expect(false, "each result has a text") }
        TextProperties.expectValid(text)
        TextProperties.expectVisible(result.text)
        let line = outcome.output.utf8.prefix { $0 != 0x0A && $0 != UInt8(ascii: "|") }
        if let first = StatusText(fitting: String(decoding: line, as: UTF8.self)) {
            expect(result.text.utf8.starts(with: first.rawValue.utf8), "the first line before a bar is the text")
        }
    }

    private static func checkText(_ text: String) {
        TextProperties.expectVisible(VisibleText.escape(text))
        TextProperties.expectCheapToCompare(StreamSafeText.text(text))
        let fitting = StatusText(fitting: text)
        fitting.map(TextProperties.expectValid)
        do throws(InvalidStatus) {
            expect(try StatusText(text) == fitting, "a valid text fits as it is")
        } catch {
            if error == .empty { expect(fitting == nil, "an empty text stays empty") }
        }
        let last = text.utf8.split(separator: 0x0A).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        if let name = ServerName(last) { expect(name.rawValue.utf8.count <= ServerName.maximumLength, "a short name") }
        if let time = Timestamp(last) { expect(Timestamp(time.description) == time, "a time stays the same: \(last)") }
    }
}
