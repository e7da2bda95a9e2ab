// SPDX-License-Identifier: Apache-2.0

import VarlinkDescription
import VarlinkGeneration

/// Interface descriptions, and the code that is generated from them.
enum DescriptionFuzzing {
    static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        do throws(InterfaceDescriptionError) {
            let description = try InterfaceDescription(parsing: text)
            checkAgain(description)
            if let code = try? Generator.code(for: description) { check(code) }
        } catch {
            expect((1...lines(of: text)).contains(error.line), "the line of an error exists: \(error)")
            expect(error.column >= 1 && error.column <= text.utf8.count + 1, "the column of an error exists: \(error)")
            let length = error.reason.utf8.count
            expect((1...longestReason + text.utf8.count).contains(length), "a short reason: \(error)")
        }
        // Options have the same alphabet.
        _ = try? GenerationOptions(parsing: text)
    }

    /// Comments of the description do not become code.
    private static func check(_ code: String) { expect(!code.utf8.contains(0x0D), "every line end is one of Swift's") }

    private static let longestReason = 100

    private static func lines(of text: String) -> Int { text.utf8.count { $0 == 0x0A } + 1 }

    /// A description that is written again has the same members and comments.
    private static func checkAgain(_ description: InterfaceDescription) {
        let text = DescriptionText.text(of: description)
        do throws(InterfaceDescriptionError) {
            let again = try InterfaceDescription(parsing: text)
            expect(again.name == description.name, "the same name")
            expect(again.documentation == description.documentation, "the same comment")
            expect(again.members == description.members, "the same members: \(text)")
        } catch {
            expect(false, "what is written can be read, but \(error): \(text)")
        }
    }
}

/// Writes a description.
private enum DescriptionText {
    static func text(of description: InterfaceDescription) -> String {
        comment(description.documentation) + "interface \(description.name)\n\n"
            + description.members.map { comment($0.documentation) + text(of: $0) + "\n\n" }.joined()
    }

    private static func comment(_ documentation: String) -> String {
        if documentation.isEmpty { return "" }
        let lines = documentation.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        return lines.map { "# \(String(decoding: $0, as: UTF8.self))\n" }.joined()
    }

    private static func text(of member: InterfaceDescription.Member) -> String {
        switch member.kind {
        case .type(let type): "type \(member.name) \(text(of: type))"
        case .method(let parameters, let reply):
            "method \(member.name)\(text(of: parameters)) -> \(text(of: reply))"
        case .error(let fields): "error \(member.name) \(text(of: fields))"
        }
    }

    private static func text(of fields: [InterfaceDescription.Field]) -> String {
        let members = fields.map { "\(comment($0.documentation))\($0.name): \(text(of: $0.type))" }
        return "(\n\(members.joined(separator: ",\n")))"
    }

    private static func text(of type: InterfaceDescription.DataType) -> String {
        switch type {
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .string: "string"
        case .object: "object"
        case .named(let name): name
        case .array(let element): "[]\(text(of: element))"
        case .map(let value): "[string]\(text(of: value))"
        case .nullable(let wrapped): "?\(text(of: wrapped))"
        case .structure(let fields): text(of: fields)
        case .enumeration(let names): "(\(names.joined(separator: ", ")))"
        }
    }
}
