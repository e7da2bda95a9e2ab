// SPDX-License-Identifier: Apache-2.0

/// A parameter of a command, without the type of its value.
public protocol AnyParameter: Sendable {
    /// What parsing, help and completion need.
    var specification: ParameterSpecification { get }
}

/// A parameter of a command.
///
/// One declaration serves parsing, help and completion, and reads the typed value:
/// ```swift
/// let level = Option("level", value: "LEVEL", help: "The severity.", default: Level.ok) { try Level(parsing: $0) }
/// let chosen = arguments[level]
/// ```
public struct Parameter<Value: Sendable>: AnyParameter {
    public let specification: ParameterSpecification
    /// Reads the value from the user's words; nil if the user did not give it.
    let value: @Sendable ([String]?) throws(InvalidValue) -> Value

    private init(
        _ name: String, letter: Character? = nil, _ form: ParameterSpecification.Form, _ help: String,
        _ completion: Completion, _ value: @escaping @Sendable ([String]?) throws(InvalidValue) -> Value
    ) {
        self.value = value
        specification = ParameterSpecification(
            name: name, letter: letter, form: form, help: help, completion: completion,
            check: { words throws(InvalidValue) in _ = try value(words) })
    }
}

/// A parameter without a value, which is off by default.
public typealias Flag = Parameter<Bool>
/// A parameter with a value after its name.
public typealias Option<Value: Sendable> = Parameter<Value>
/// A parameter that consists of words and is identified by its position.
public typealias Argument<Value: Sendable> = Parameter<Value>

extension Parameter where Value == Bool {
    public init(_ name: String, help: String) { self.init(name, .flag, help, .nothing) { $0 != nil } }
}

extension Parameter {
    /// Creates an option with a default value.
    ///
    /// With a letter, it also has a short form: `-n VALUE` or `-nVALUE`.
    public init(
        _ name: String, letter: Character? = nil, value: String, help: String, default defaultValue: Value,
        completion: Completion = .nothing,
        parse: @escaping @Sendable (String) throws(InvalidValue) -> Value
    ) {
        self.init(name, letter: letter, .option(value: value), help, completion) { words throws(InvalidValue) in
            guard let word = words?.last else { return defaultValue }
            return try parse(word)
        }
    }

    /// An argument that must be given.
    public static func required(
        _ name: String, help: String, completion: Completion = .nothing,
        parse: @escaping @Sendable (String) throws(InvalidValue) -> Value
    ) -> Parameter {
        Parameter(name, .argument(.one), help, completion) { words throws(InvalidValue) in
            guard let word = words?.first else { throw InvalidValue("missing") }
            return try parse(word)
        }
    }
}

extension Parameter where Value == String? {
    /// An argument that may be omitted.
    public static func optional(_ name: String, help: String, completion: Completion = .nothing) -> Parameter {
        Parameter(name, .argument(.optional), help, completion) { $0?.first }
    }
}

extension Parameter where Value == [String] {
    /// An argument that may be given any number of times.
    public static func list(_ name: String, help: String, completion: Completion = .nothing) -> Parameter {
        Parameter(name, .argument(.any), help, completion) { $0 ?? [] }
    }
}

/// A parameter without the type of its value.
public struct ParameterSpecification: Sendable {
    /// How users write a parameter.
    public enum Form: Sendable, Equatable {
        /// `--name`.
        case flag
        /// `--name VALUE`, with the value's name in help.
        case option(value: String)
        /// A word without a name.
        case argument(Arity)
    }

    /// How many words an argument takes.
    public enum Arity: Sendable {
        case one, optional, any
    }

    /// The name, without hyphens.
    public let name: String
    /// The letter of its short form, such as `n` of `-n`; nil if it has none.
    public let letter: Character?
    /// How users write the parameter.
    public let form: Form
    public let help: String
    public let completion: Completion
    /// Throws if the words are not a valid value.
    let check: @Sendable ([String]) throws(InvalidValue) -> Void

    /// The name in messages: `--level` for an option, `NAME` for an argument.
    var title: String {
        switch form {
        case .flag, .option: "--\(name)"
        case .argument: name.uppercased()
        }
    }
}

public enum Completion: Sendable {
    case nothing
    case files
    case words([String])
    /// Words that are computed during completion, from the options on the command line.
    case dynamic(@Sendable (ParsedArguments) async -> [CompletionCandidate])
}

/// A word that completion suggests.
public struct CompletionCandidate: Sendable {
    let word: String
    /// The description that shells show next to the word.
    let description: String

    /// Creates a candidate; neither text contains a newline.
    public init(_ word: String, description: String) {
        self.word = word
        self.description = description
    }
}

/// The reason why a word is not a valid value.
public struct InvalidValue: Error, Sendable, Hashable {
    /// The reason, as a phrase such as “must be a number”.
    public let reason: String

    /// Creates an error; messages show the reason after the word and a colon.
    public init(_ reason: String) { self.reason = reason }
}
