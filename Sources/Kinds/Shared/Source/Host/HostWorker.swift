// SPDX-License-Identifier: Apache-2.0

import Glibc
public import SourceKinds
import StatusModel
import StatusWorkers
public import Varlink

/// Settings of a source that checks something on this host, such as a file.
///
/// A process that waits for a dead disk cannot be killed. So a worker runs the check, and the daemon can abandon it
/// (``HostCheck``).
public protocol HostCheckable: SourceSettings, JSONReadable, JSONWritable {
    /// Checks the subject; may block indefinitely.
    ///
    /// - Throws: ``CheckFailure`` if there is no result.
    func check() throws(CheckFailure) -> CheckResult
    /// The name of the subject, for messages.
    var subjectName: String { get }
}

/// A call to a worker that checks this host.
struct HostCall: JSONReadable, JSONWritable, Sendable {
    let settings: any HostCheckable

    init(_ settings: any HostCheckable) { self.settings = settings }

    init(from reader: inout JSONReader) throws(JSONError) {
        var kind: (any HostCheckable.Type)?
        var settings: (any HostCheckable)?
        try reader.object { name, reader throws(JSONError) in
            switch (name, kind) {
            case ("kind", _): kind = SourceKinds.kind(try String(from: &reader)) as? any HostCheckable.Type
            case ("settings", let kind?): settings = try kind.init(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let settings else { throw .missingMember("settings") }
        self.settings = settings
    }

    func write(to writer: inout JSONWriter) {
        func write(_ settings: some HostCheckable) {
            writer.object { writer in
                writer.member("kind", type(of: settings).key)
                writer.member("settings", settings)
            }
        }
        write(settings)
    }
}

/// The answer of a worker that checked this host.
struct HostAnswer: WorkerAnswer, JSONWritable, Equatable {
    /// The result, or the reason why there is none.
    let result: Result<CheckResult, CheckFailure>

    var isFinal: Bool { true }
    var leavesWorkerIdle: Bool { true }

    init(_ result: Result<CheckResult, CheckFailure>) { self.result = result }

    init(from reader: inout JSONReader) throws(JSONError) {
        var level: Level?
        var text: String?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "level": level = Level(rawValue: try String(from: &reader))
            case "text": text = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let text else { throw .missingMember("text") }
        result = level.map { .success(CheckResult($0, text)) } ?? .failure(CheckFailure(text))
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch result {
            case .success(let found):
                writer.member("level", found.level.rawValue)
                writer.member("text", found.text)
            case .failure(let failure): writer.member("text", failure.description)
            }
        }
    }
}

/// A process that checks this host for the daemon, which is connected to its standard input.
///
/// It runs one check for each call. It may block; the daemon then times out and abandons it.
public enum HostWorker {
    /// The additional address space that the process may use, in bytes; a directory may have any number of files.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        var calls = WorkerCalls<HostCall>()
        let failure = MemoryLimit.set(additional: memoryLimit)
        guard calls.greet(WorkerGreeting(refusal: failure)), failure == nil else { exit(0) }
        while let call = calls.wait() {
            let result = Result { () throws(CheckFailure) in try call.settings.check() }
            guard calls.answer(HostAnswer(result)) else { break }
        }
        exit(0)
    }
}
