// SPDX-License-Identifier: Apache-2.0

/// A program, or one of a program's commands.
public struct Command<Status: Sendable>: Sendable {
    /// Its name.
    public let name: String
    /// What it does, in a sentence.
    public let abstract: String
    /// What else its help says.
    public let discussion: String
    /// Its arguments, in order, and its options.
    public let parameters: [any Parameter]
    /// Its commands; a program has either these or parameters.
    public let subcommands: [Command]
    /// Checks that the parameters make sense together.
    let validate: @Sendable (ParsedArguments) throws(InvalidUsage) -> Void
    /// Runs it; nil if the program does it by itself.
    public let run: (@Sendable (ParsedArguments) async throws -> Status)?

    /// A command, or a program without commands.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - abstract: What it does, in a sentence.
    ///   - discussion: What else its help says.
    ///   - parameters: What may follow it, arguments in their order.
    ///   - validate: Checks that the parameters make sense together.
    ///   - run: Does it; nil if the program does it by itself.
    public init(
        _ name: String, abstract: String, discussion: String = "", parameters: [any Parameter],
        validate: @escaping @Sendable (ParsedArguments) throws(InvalidUsage) -> Void = { _ in },
        run: (@Sendable (ParsedArguments) async throws -> Status)? = nil
    ) {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.parameters = parameters
        self.validate = validate
        self.run = run
        subcommands = []
    }

    /// A program that consists of commands.
    public init(_ name: String, abstract: String, discussion: String = "", subcommands: [Command]) {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.subcommands = subcommands
        parameters = []
        validate = { _ in }
        run = nil
    }
}

/// The values that a user wrote, by parameter, each of them checked.
public struct ParsedArguments: Sendable {
    var flags: Set<String> = []
    var values: [String: [String]] = [:]

    /// Notes an option; a flag has no value.
    mutating func note(_ option: ParameterSpecification, _ value: String?) {
        if let value { values[option.name] = [value] } else { flags.insert(option.name) }
    }

    /// Whether a flag is on.
    public subscript(flag: Flag) -> Bool { flags.contains(flag.specification.name) }

    /// An option's value.
    public subscript<Value>(option: Option<Value>) -> Value {
        checked { () throws(InvalidValue) in try option.value(values[option.specification.name]?.last) }
    }

    /// An argument's value.
    public subscript<Value>(argument: Argument<Value>) -> Value {
        checked { () throws(InvalidValue) in try argument.value(values[argument.specification.name] ?? []) }
    }

    private func checked<Value>(_ read: () throws(InvalidValue) -> Value) -> Value {
        do throws(InvalidValue) { return try read() } catch {
            preconditionFailure("a command read a parameter that it does not declare: \(error.reason)")
        }
    }
}

/// Why parameters do not make sense together, as a sentence that says what to do.
public struct InvalidUsage: Error, Sendable, Hashable {
    /// The sentence.
    public let reason: String

    /// An error with a sentence, without the program's name.
    public init(_ reason: String) { self.reason = reason }
}
