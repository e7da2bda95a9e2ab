// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusWorkers
import Testing
import Varlink

@testable import StatusSources

@Suite("Messages between the daemon and the worker that looks at files") struct FileMessagesTests {
    private func received<Value: JSONReadable & JSONWritable>(_ value: Value) throws -> Value {
        try WorkerMessage.encode(value).dropLast().withUnsafeBytes { try WorkerMessage.decode(from: $0) }
    }

    @Test("a call arrives as it was sent")
    func call() throws {
        var settings = FileSettings(path: "/a/ü")
        #expect(try received(HostCall(settings)).settings as? FileSettings == settings)
        (settings.age, settings.size) = (.milliseconds(1500), 17)
        #expect(try received(HostCall(settings)).settings as? FileSettings == settings)
        settings = FileSettings(path: "/a")
        settings.exists = false
        #expect(try received(HostCall(settings)).settings as? FileSettings == settings)
    }

    @Test("an answer arrives as it was sent")
    func answer() throws {
        for result: Result<CheckResult, CheckFailure> in [
            .success(CheckResult(.ok, "exists")), .failure(CheckFailure("Permission denied")),
        ] {
            #expect(try received(HostAnswer(result)) == HostAnswer(result))
        }
    }
}
