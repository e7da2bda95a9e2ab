// SPDX-License-Identifier: Apache-2.0

/// Options for the code that is generated from a description.
///
/// A file of options has one option on each line: a word and its values. `#` begins a comment:
/// ```
/// prefix Monitor                     # of MonitorClient etc.; default: the last part of the interface's name
/// access public                      # or package; default: internal
/// import StatusModel
/// more Watch Refresh                 # methods that clients call with more
/// oneway Post                        # methods that clients call without waiting
/// reads List Describe                # methods that change nothing (VarlinkInterface.onlyReads)
/// type Level StatusModel.Level       # a type of the description that already exists in Swift
/// field Post.server ServerName       # a parameter, or a member of a type or an error
/// field Describe->server ServerState # a member of a reply
/// ```
/// The format is not JSON, because it needs comments, and because the generator does not depend on the library.
public struct GenerationOptions: Sendable, Hashable {
    /// Who may use the generated code.
    public enum Access: String, Sendable {
        case `internal`, package, `public`
    }

    /// The prefix of names such as `MonitorClient`; nil for the last part of the interface's name.
    public var prefix: String?
    /// Who may use the generated code.
    public var access = Access.internal
    /// The modules to import.
    public var imports: [String] = []
    /// The methods that clients call with `more`.
    public var more: [String] = []
    /// The methods that clients call with `oneway`.
    public var oneway: [String] = []
    /// The methods that change nothing (`VarlinkInterface.onlyReads`).
    ///
    /// Their calls are skipped if the client has left. If there are any, the service must implement `admit`, which may
    /// refuse the other methods.
    public var reads: [String] = []
    /// The Swift types of the description's types.
    public var types: [String: String] = [:]
    /// The Swift types of members, by `Type.member`, or by `Method->member` in a reply.
    public var fields: [String: String] = [:]

    /// Creates the default options.
    public init() {}

    /// Parses options.
    ///
    /// - Throws: the first error and its line.
    public init(parsing text: String) throws(GenerationError) {
        for (index, line) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
                .map { String(decoding: $0, as: UTF8.self) }
            guard let option = words.first else { continue }
            guard words.count > 1, set(option, Array(words.dropFirst())) else {
                throw GenerationError("line \(index + 1): invalid option “\(words.joined(separator: " "))”")
            }
        }
    }

    private mutating func set(_ option: String, _ values: [String]) -> Bool {
        switch (option, values.count) {
        case ("prefix", 1): prefix = values[0]
        case ("access", 1):
            guard let access = Access(rawValue: values[0]) else { return false }
            self.access = access
        case ("import", 1): imports.append(values[0])
        case ("more", _): more += values
        case ("oneway", _): oneway += values
        case ("reads", _): reads += values
        case ("type", 2...): return add(values, to: &types)
        case ("field", 2...): return add(values, to: &fields)
        default: return false
        }
        return true
    }

    private func add(_ values: [String], to types: inout [String: String]) -> Bool {
        types.updateValue(values.dropFirst().joined(separator: " "), forKey: values[0]) == nil
    }
}

/// An error in options or a description.
public struct GenerationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error, in lower case and without a full stop.
    public let description: String

    init(_ description: String) { self.description = description }
}
