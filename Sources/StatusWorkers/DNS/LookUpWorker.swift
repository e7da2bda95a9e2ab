// SPDX-License-Identifier: Apache-2.0

package import EventLoopIO
public import Varlink

/// A process that looks up hosts for the daemon, which is connected to its standard input.
///
/// It asks as all programs of this host do (getaddrinfo(3)), which takes as long as a name server wants. So the daemon
/// ends the process if a lookup takes too long.
public enum LookUpWorker {
    /// The additional address space that the process may use, in bytes.
    private static let memoryLimit = 64 << 20

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        WorkerCalls<LookUpCall>.serve(additionalMemory: memoryLimit) { LookUpAnswer(to: $0) }
    }
}

/// The host to look up.
public struct LookUpCall: JSONStructure, Sendable {
    public var host: String

    public init(host: String) { self.host = host }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(host: "")
        try reader.object { name, reader throws(JSONError) in
            guard name == "host" else { throw .unknownMember(name) }
            host = try String(from: &reader)
        }
    }

    public func writeMembers(to writer: inout JSONWriter) { writer.member("host", host) }
}

/// The addresses of a host, in the order in which to try them, or the reason why there are none.
public struct LookUpAnswer: JSONStructure, WorkerAnswer {
    private var addresses: [String] = []
    private var failure: String?

    public var leavesWorkerIdle: Bool { true }

    init(to call: LookUpCall) {
        do throws(FailedLookUp) {
            addresses = try Resolver.lookUp(call.host).prefix(Self.maximumCount).compactMap(\.text)
        } catch {
            failure = error.description
        }
    }

    /// The maximum number of addresses, which a name server chooses.
    private static let maximumCount = 64

    /// The addresses with a port.
    ///
    /// - Throws: ``FailedLookUp`` if there are none.
    package func addresses(port: UInt16) throws(FailedLookUp) -> [InternetAddress] {
        if let failure { throw FailedLookUp(failure) }
        return addresses.compactMap { Resolver.numericAddress($0, port: port) }
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "addresses": addresses = try [String](from: &reader)
            case "failure": failure = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("addresses", addresses)
        writer.member("failure", failure)
    }
}
