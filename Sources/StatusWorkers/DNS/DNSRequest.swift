// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import Varlink

/// A question to a name server, and the expected answer.
public struct DNSRequest: JSONStructure, Equatable {
    public var settings: DNSSettings
    public var timeout: Duration

    public init(_ settings: DNSSettings, timeout: Duration) { (self.settings, self.timeout) = (settings, timeout) }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(DNSSettings(name: ""), timeout: .zero)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "name": settings.name = try String(from: &reader)
            case "type": settings.type = DNSSettings.RecordType(rawValue: try String(from: &reader)) ?? .a
            case "server": settings.server = try String(from: &reader)
            case "port": settings.port = UInt16(clamping: try Int(from: &reader))
            case "expected": settings.expected = try [String](from: &reader)
            case "timeout": timeout = .microseconds(try Int(from: &reader))
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", settings.name)
        writer.member("type", settings.type.rawValue)
        writer.member("server", settings.server)
        writer.member("port", Int(settings.port))
        writer.member("expected", settings.expected)
        writer.member("timeout", Int(timeout / .microseconds(1)))
    }
}

public enum DNSOutcome: JSONStructure, Equatable, WorkerAnswer {
    /// The answer is as expected: its text, its remaining lifetime in seconds, and the time that it took.
    case expected(text: String, lifetime: Int, duration: Duration)
    /// There is no answer, or an unexpected one, for this reason.
    case unexpected(reason: String)
    /// No question was asked because this host lacks a resource; the state of the name is unknown.
    case notAsked(reason: String)

    /// After an unexpected outcome, the worker is not used again.
    public var leavesWorkerIdle: Bool { if case .expected = self { true } else { false } }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var (outcome, text, lifetime, duration): (DNSOutcome?, String?, Int, Duration) = (nil, nil, 0, .zero)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "text": text = try String(from: &reader)
            case "lifetime": lifetime = try Int(from: &reader)
            case "duration": duration = .microseconds(try Int(from: &reader))
            case "unexpected": outcome = .unexpected(reason: try String(from: &reader))
            case "notAsked": outcome = .notAsked(reason: try String(from: &reader))
            default: throw .unknownMember(name)
            }
        }
        if let outcome {
            self = outcome
        } else if let text {
            self = .expected(text: text, lifetime: lifetime, duration: duration)
        } else {
            throw .missingMember("text")
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .expected(let text, let lifetime, let duration):
            writer.member("text", text)
            writer.member("lifetime", lifetime)
            writer.member("duration", Int(duration / .microseconds(1)))
        case .unexpected(let reason): writer.member("unexpected", reason)
        case .notAsked(let reason): writer.member("notAsked", reason)
        }
    }
}
