// SPDX-License-Identifier: Apache-2.0

public struct Command<Status: Sendable>: Sendable {
    public let name: String
    /// The purpose, in one sentence.
    public let abstract: String
    /// Further paragraphs for the help.
    public let discussion: String
    /// The arguments, in order, and the options.
    public let parameters: [any AnyParameter]
    /// The program's commands; a program has either commands or parameters.
    public let subcommands: [Command]
    /// Checks that the parameters make sense together.
    let validate: @Sendable (ParsedArguments) throws(InvalidUsage) -> Void
    /// Runs the command; nil if the program runs it itself.
    public let run: (@Sendable (ParsedArguments) async throws -> Status)?

    /// Creates a command, or a program without commands.
    public init(
        _ name: String, abstract: String, discussion: String = "", parameters: [any AnyParameter],
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

    /// Creates a program that consists of commands.
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

/// The values that a user gave, by parameter; each is valid.
public struct ParsedArguments: Sendable {
    /// The words by the parameter's name; none for a flag.
    var values: [String: [String]] = [:]

    /// Records an option; a flag has no value.
    mutating func note(_ option: ParameterSpecification, _ value: String?) {
        values[option.name] = value.map { [$0] } ?? []
    }

    public subscript<Value>(parameter: Parameter<Value>) -> Value {
        do throws(InvalidValue) { return try parameter.value(values[parameter.specification.name]) } catch {
            preconditionFailure("a command read a parameter that it does not declare: \(error.reason)")
        }
    }
}

/// The reason why parameters do not make sense together, and what to do.
public struct InvalidUsage: Error, Sendable, Hashable {
    public let reason: String

    /// Creates an error; the reason does not contain the program's name.
    public init(_ reason: String) { self.reason = reason }
}
