// SPDX-License-Identifier: Apache-2.0

/// What a description does not say about the code that is generated from it.
///
/// Their file has one option a line, a word and its value; `#` begins a comment:
/// ```
/// prefix Monitor                     # MonitorClient, MonitorService, …; else the last part of the interface's name
/// access public                      # or package; else internal
/// import StatusModel
/// more Watch Refresh                 # methods that clients call with more
/// oneway Post                        # methods that clients call without waiting
/// reads List Describe                # methods that change nothing (VarlinkInterface.onlyReads)
/// upgrade Open                       # methods that upgrade the connection to another protocol
/// type Level StatusModel.Level       # a type of the description that exists in Swift already
/// field Post.server ServerName       # a parameter, or a member of a type or an error
/// field Describe->server ServerState # a member of a reply
/// ```
/// A line format, and not JSON, because it has comments and the generator then needs nothing of the library.
public struct GenerationOptions: Sendable, Hashable {
    /// Who may use the generated code.
    public enum Access: String, Sendable {
        case `internal`, package, `public`
    }

    /// The beginning of the names of what is generated once; nil for the last part of the interface's name.
    public var prefix: String?
    /// Who may use the generated code.
    public var access = Access.internal
    /// The modules to import.
    public var imports: [String] = []
    /// The methods that clients call with `more`.
    public var more: [String] = []
    /// The methods that clients call with `oneway`.
    public var oneway: [String] = []
    /// The methods that change nothing.
    public var reads: [String] = []
    /// The methods that upgrade the connection of a call with `upgrade`.
    public var upgrade: [String] = []
    /// The Swift types of types.
    public var types: [String: String] = [:]
    /// The Swift types of members, by `Type.member`, or `Method->member` in a reply.
    public var fields: [String: String] = [:]

    /// The options of an interface that has no file of them.
    public init() {}

    /// Reads options.
    ///
    /// - Throws: what is wrong with them, and where.
    public init(parsing text: String) throws(GenerationError) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
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
        case ("upgrade", _): upgrade += values
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

/// Why no code can be generated.
public struct GenerationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, as a sentence without its full stop.
    public let description: String

    init(_ description: String) { self.description = description }
}
