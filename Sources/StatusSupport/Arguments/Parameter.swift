// SPDX-License-Identifier: Apache-2.0

/// A flag, an option or an argument of a command.
///
/// One declaration serves parsing, help and completion, and reads the typed value:
/// ```swift
/// let level = Option("level", value: "LEVEL", help: "The severity.", default: Level.ok) { try Level(parsing: $0) }
/// let chosen = arguments[level]
/// ```
public protocol Parameter: Sendable {
    /// The parameter without the type of its value, for parsing, help and completion.
    var specification: ParameterSpecification { get }
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
    /// The help, in one sentence.
    public let help: String
    /// The values that completion suggests.
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

/// The values that completion suggests for a parameter.
public enum Completion: Sendable {
    case nothing
    /// The names of files.
    case files
    /// These words.
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

/// A parameter without a value, which is off by default.
public struct Flag: Parameter {
    public let specification: ParameterSpecification

    /// Creates a flag.
    public init(_ name: String, help: String) {
        specification = ParameterSpecification(
            name: name, letter: nil, form: .flag, help: help, completion: .nothing, check: { _ in })
    }
}

/// A parameter with a value after its name.
public struct Option<Value: Sendable>: Parameter {
    public let specification: ParameterSpecification
    let value: @Sendable (String?) throws(InvalidValue) -> Value

    /// Creates an option with a default value.
    ///
    /// With a letter, it also has a short form: `-n VALUE` or `-nVALUE`.
    public init(
        _ name: String, letter: Character? = nil, value: String, help: String, default defaultValue: Value,
        completion: Completion = .nothing,
        parse: @escaping @Sendable (String) throws(InvalidValue) -> Value
    ) {
        let read: @Sendable (String?) throws(InvalidValue) -> Value = { text throws(InvalidValue) in
            guard let text else { return defaultValue }
            return try parse(text)
        }
        self.value = read
        specification = ParameterSpecification(
            name: name, letter: letter, form: .option(value: value), help: help, completion: completion,
            check: { words throws(InvalidValue) in _ = try read(words.last) })
    }
}

/// A parameter that consists of one or more words and is identified by its position.
public struct Argument<Value: Sendable>: Parameter {
    public let specification: ParameterSpecification
    let value: @Sendable ([String]) throws(InvalidValue) -> Value

    private init(
        _ name: String, _ arity: ParameterSpecification.Arity, _ help: String, _ completion: Completion,
        _ value: @escaping @Sendable ([String]) throws(InvalidValue) -> Value
    ) {
        self.value = value
        specification = ParameterSpecification(
            name: name, letter: nil, form: .argument(arity), help: help, completion: completion,
            check: { words throws(InvalidValue) in _ = try value(words) })
    }
}

extension Argument {
    /// An argument that must be given.
    public static func required(
        _ name: String, help: String, completion: Completion = .nothing,
        parse: @escaping @Sendable (String) throws(InvalidValue) -> Value
    ) -> Argument {
        Argument(name, .one, help, completion) { words throws(InvalidValue) in
            guard let word = words.first else { throw InvalidValue("missing") }
            return try parse(word)
        }
    }
}

extension Argument where Value == String? {
    /// An argument that may be omitted.
    public static func optional(_ name: String, help: String, completion: Completion = .nothing) -> Argument {
        Argument(name, .optional, help, completion) { $0.first }
    }
}

extension Argument where Value == [String] {
    /// An argument that may be given any number of times.
    public static func list(_ name: String, help: String, completion: Completion = .nothing) -> Argument {
        Argument(name, .any, help, completion) { $0 }
    }
}
