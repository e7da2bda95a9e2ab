// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import Varlink

/// Settings of a source that looks at something on this host, such as a file.
///
/// A process that waits for a dead disk cannot be killed. So a worker looks, and the daemon can abandon it
/// (``HostCheck``).
public protocol HostLooking: SourceSettings, JSONReadable, JSONWritable {
    /// Looks at the subject; may block without a limit.
    ///
    /// - Throws: ``CheckFailure`` if there is no result.
    func look() throws(CheckFailure) -> CheckResult
    /// The name of what is looked at, for messages.
    var nameOfSubject: String { get }
}

/// The call to a worker that looks at this host.
struct HostCall: JSONReadable, JSONWritable, Sendable {
    let settings: any HostLooking

    init(_ settings: any HostLooking) { self.settings = settings }

    init(from reader: inout JSONReader) throws(JSONError) {
        var kind: (any HostLooking.Type)?
        var settings: (any HostLooking)?
        try reader.object { name, reader throws(JSONError) in
            switch (name, kind) {
            case ("kind", _): kind = SourceKinds.kind(try String(from: &reader)) as? any HostLooking.Type
            case ("settings", let kind?): settings = try kind.init(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let settings else { throw .missingMember("settings") }
        self.settings = settings
    }

    func write(to writer: inout JSONWriter) {
        func write(_ settings: some HostLooking) {
            writer.object { writer in
                writer.member("kind", type(of: settings).key)
                writer.member("settings", settings)
            }
        }
        write(settings)
    }
}
