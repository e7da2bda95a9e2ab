// SPDX-License-Identifier: Apache-2.0

/// An error reply of a service.
public struct VarlinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error's full name, `interface.Error`.
    public var name: String
    /// The bytes of its parameters, a JSON object.
    public var parameters: [UInt8]

    /// Creates an error whose parameters already are JSON.
    public init(name: String, parameters: [UInt8]) {
        self.name = name
        self.parameters = parameters
    }

    /// Creates an error; `body` writes the members of its parameters.
    public init(_ name: String, _ body: (inout JSONWriter) -> Void = { _ in }) {
        var writer = JSONWriter(reserving: 64)
        writer.object(body)
        self.init(name: name, parameters: writer.bytes)
    }

    /// Reads the parameters as a type, skipping unknown members.
    public func parameters<Parameters: JSONReadable>(
        _ type: Parameters.Type = Parameters.self
    ) throws(JSONError) -> Parameters {
        try JSONReader.read(parameters) { reader throws(JSONError) in
            reader.skipsUnknownMembers = true
            return try Parameters(from: &reader)
        }
    }

    /// The text of a parameter; nil if it is missing or not a string.
    public func text(_ parameter: String) -> String? {
        let text = try? JSONReader.read(parameters) { reader throws(JSONError) in
            var text: String?
            try reader.object { name, reader throws(JSONError) in
                if name.text == parameter { text = try String?(from: &reader) }
            }
            return text
        }
        return text ?? nil
    }

    /// The bytes of the error reply, with its NUL.
    public var reply: [UInt8] {
        var writer = JSONWriter()
        writer.object { writeMembers(to: &$0) }
        return writer.bytes + [0]
    }

    /// Writes the members of the reply.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("error", name)
        writer.member("parameters", raw: parameters)
    }

    public var description: String { "\(name) \(String(decoding: parameters, as: UTF8.self))" }
}

extension VarlinkError {
    /// The most bytes of a client's name that an error repeats.
    static let maximumNameBytes = 256

    /// Cuts a client's name after 256 bytes, to bound the memory of an error that repeats it.
    public static func shortened(_ name: String) -> String {
        name.utf8.count <= maximumNameBytes ? name : String(decoding: name.utf8.prefix(maximumNameBytes), as: UTF8.self)
    }

    /// The error reply of an error that every service has.
    public static func service(_ error: ServiceError) -> VarlinkError { error.reply }
}
