// SPDX-License-Identifier: Apache-2.0

import Glibc
public import SourceKinds
import StatusModel
import StatusWorkers
public import Varlink

/// A process that checks files for the daemon, which is connected to its standard input.
///
/// It runs one check for each call. It may block; the daemon then times out and abandons it.
public enum HostWorker {
    /// The additional address space that the process may use, in bytes; a directory may have any number of files.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        var calls = WorkerCalls<FileSettings>()
        let failure = MemoryLimit.set(additional: memoryLimit)
        guard calls.greet(WorkerGreeting(refusal: failure)), failure == nil else { exit(0) }
        while let settings = calls.wait() {
            let result = Result { () throws(CheckFailure) in try settings.check() }
            guard calls.answer(FileAnswer(result)) else { break }
        }
        exit(0)
    }
}

extension FileSettings: WorkerCall {
    typealias Answer = FileAnswer

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(place: .ownProgram, role: .hostWorker, purpose: "check this host")
    }
}

extension FileSettings: JSONStructure {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(path: "")
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "path": path = try String(from: &reader)
            case "age": age = .milliseconds(try Int(from: &reader))
            case "size": size = try Int(from: &reader)
            case "exists": exists = try Bool(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("path", path)
        writer.member("age", age.map { Int($0 / .milliseconds(1)) })
        writer.member("size", size)
        writer.member("exists", exists)
    }
}

struct FileAnswer: WorkerAnswer, JSONStructure, Equatable {
    /// The result, or the reason why there is none.
    let result: Result<CheckResult, CheckFailure>

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

    func writeMembers(to writer: inout JSONWriter) {
        switch result {
        case .success(let found):
            writer.member("level", found.level.rawValue)
            writer.member("text", found.text)
        case .failure(let failure): writer.member("text", failure.description)
        }
    }
}
