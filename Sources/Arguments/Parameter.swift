// SPDX-License-Identifier: Apache-2.0

/// A flag, an option or an argument of a command.
///
/// One declaration serves parsing, help and completion, and reads the typed value:
/// ```swift
/// let level = Option("level", value: "LEVEL", help: "How serious it is.", default: Level.ok) { try Level(parsing: $0) }
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

    /// Its name, without hyphens.
    public let name: String
    /// The letter of its short form, such as `n` of `-n`; nil if it has none.
    public let letter: Character?
    /// How users write it.
    public let form: Form
    /// Its help, in a sentence.
    public let help: String
    /// The values that completion suggests.
    public let completion: Completion
    /// Throws if the words are not a valid value.
    let check: @Sendable ([String]) throws(InvalidValue) -> Void

    /// Its name as users see it in messages: `--level`, or `NAME` for an argument.
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
    /// Words that are found out when completion runs, with the options of the command line.
    case dynamic(@Sendable (ParsedArguments) async -> [CompletionCandidate])
}

/// A word that completion suggests.
public struct CompletionCandidate: Sendable {
    let word: String
    /// What shells show beside it.
    let description: String

    /// A word with a short description, both on one line.
    public init(_ word: String, description: String) {
        self.word = word
        self.description = description
    }
}

/// Why a word is not a valid value, as a phrase such as “must be a number”.
public struct InvalidValue: Error, Sendable, Hashable {
    /// The phrase.
    public let reason: String

    /// An error with a reason that follows the word and a colon.
    public init(_ reason: String) { self.reason = reason }
}

/// A parameter that is off unless it is given.
public struct Flag: Parameter {
    public let specification: ParameterSpecification

    /// A flag.
    public init(_ name: String, help: String) {
        specification = ParameterSpecification(
            name: name, letter: nil, form: .flag, help: help, completion: .nothing, check: { _ in })
    }
}

/// A parameter with a value after its name.
public struct Option<Value: Sendable>: Parameter {
    public let specification: ParameterSpecification
    let value: @Sendable (String?) throws(InvalidValue) -> Value

    /// An option with a default value, and with a short form if it has a letter: `-n VALUE` or `-nVALUE`.
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

/// A parameter that is one word or several, identified by position.
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
    /// An argument that users must write.
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
    /// An argument that users may leave out.
    public static func optional(_ name: String, help: String, completion: Completion = .nothing) -> Argument {
        Argument(name, .optional, help, completion) { $0.first }
    }
}

extension Argument where Value == [String] {
    /// An argument that users may write as often as they like.
    public static func list(_ name: String, help: String, completion: Completion = .nothing) -> Argument {
        Argument(name, .any, help, completion) { $0 }
    }
}
