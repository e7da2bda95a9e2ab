// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// What the worker for HTTP is asked: to make a request, or to forget one that nobody waits for any more.
public struct HTTPCall: JSONReadable, JSONWritable, Sendable {
    /// The number by which the answer is known.
    public var number: Int
    /// What to ask; nil to forget the request with this number.
    public var request: HTTPRequest?

    /// A call that makes a request, or stops it.
    public init(number: Int, request: HTTPRequest? = nil) {
        self.number = number
        self.request = request
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var (number, request): (Int?, HTTPRequest?) = (nil, nil)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "number": number = try Int(from: &reader)
            case "request": request = try HTTPRequest(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let number else { throw .missingMember("number") }
        self.init(number: number, request: request)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("number", number)
            writer.member("request", request)
        }
    }
}

/// What became of a request.
public enum HTTPOutcome: Sendable, Equatable {
    /// The answer is as it should be; it has this status code, and all of it took so long.
    case expected(statusCode: Int, duration: Duration)
    /// There is no answer, or another one, for this reason: one short phrase in lower case and without a full stop.
    case unexpected(reason: String)
    /// Nothing is known of the server, since this host lacks something.
    case notMade(reason: String)
}

/// The worker's answer to a call.
public struct HTTPAnswer: JSONReadable, JSONWritable, Sendable {
    /// The call's number.
    public var number: Int
    /// What became of its request.
    public var outcome: HTTPOutcome

    /// An answer to the call with this number.
    public init(number: Int, outcome: HTTPOutcome) {
        self.number = number
        self.outcome = outcome
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var (number, outcome): (Int?, HTTPOutcome?) = (nil, nil)
        var (statusCode, duration) = (0, Duration.zero)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "number": number = try Int(from: &reader)
            case "statusCode": statusCode = try Int(from: &reader)
            case "duration": duration = .microseconds(try Int(from: &reader))
            case "unexpected": outcome = .unexpected(reason: try String(from: &reader))
            case "notMade": outcome = .notMade(reason: try String(from: &reader))
            default: throw .unknownMember(name)
            }
        }
        guard let number else { throw .missingMember("number") }
        self.init(number: number, outcome: outcome ?? .expected(statusCode: statusCode, duration: duration))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("number", number)
            switch outcome {
            case .expected(let statusCode, let duration):
                writer.member("statusCode", statusCode)
                writer.member("duration", Int(duration / .microseconds(1)))
            case .unexpected(let reason): writer.member("unexpected", reason)
            case .notMade(let reason): writer.member("notMade", reason)
            }
        }
    }
}
