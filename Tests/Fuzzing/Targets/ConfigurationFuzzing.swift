// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import YAML

@testable import StatusConfiguration

/// The text of one configuration file.
enum ConfigurationFuzzing {
    static func check(_ input: [UInt8]) {
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let lines = input.count { $0 == 0x0A || $0 == 0x0D } + text.unicodeScalars.count { isLineEnd($0) } + 2
        guard let fragment = read(text, lines) else { return }
        guard let root = try? YAMLDocument.read(text) else { return }
        let rewritten = YAMLText.flow(root)
        checkTree(root, rewritten)
        guard let again = read(rewritten, 1) else { return expect(false, "what is written can be read: \(rewritten)") }
        checkSame(fragment, again)
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool { [0x85, 0x2028, 0x2029].contains(scalar.value) }

    /// Reads a text; nil if it is not a configuration.
    private static func read(_ text: String, _ lines: Int) -> Fragment? {
        do throws(Problem) {
            let fragment = try FragmentReader.read(text, file: "file")
            for problem in fragment.problems + fragment.errors + fragment.failures { check(problem, lines) }
            return fragment
        } catch {
            check(error, lines)
            return nil
        }
    }

    private static func check(_ problem: Problem, _ lines: Int) {
        TextProperties.expectVisible(problem.description)
        expect((1...lines).contains(problem.origin.line ?? 1), "the line exists: \(problem)")
    }

    private static func checkTree(_ root: YAMLNode, _ text: String) {
        guard let again = try? YAMLDocument.read(text) else { return expect(false, "the same tree: \(text)") }
        expect(YAMLText.flow(again).utf8.elementsEqual(text.utf8), "the same tree: \(text)")
    }

    /// A configuration does not depend on how its YAML is written.
    private static func checkSame(_ left: Fragment, _ right: Fragment) {
        expect(left.select?.server == right.select?.server, "the same selection")
        expect(left.acceptsAny == right.acceptsAny, "the same permission")
        expect(left.limits.map(\.value) == right.limits.map(\.value), "the same limits")
        expect(left.history.keep == right.history.keep && left.history.changes == right.history.changes, "history")
        expect(left.errors.map(\.reason) == right.errors.map(\.reason), "the same errors")
        expect(meaningWarnings(of: left) == meaningWarnings(of: right), "the same warnings")
        expect(left.servers.map(\.name) == right.servers.map(\.name), "the same servers")
        let (lefts, rights) = (servers(of: left), servers(of: right))
        expect(lefts == rights, "the same servers: \(lefts), \(rights)")
        for server in lefts { check(server) }
    }

    /// The warnings but for those of texts without quotes, which are about how they are written.
    private static func meaningWarnings(of fragment: Fragment) -> [String] {
        let endings = ["in quotes if it is one", "or quote it if it is one", "write straight ones, \" or '"]
        return fragment.problems.map(\.reason).filter { reason in !endings.contains { reason.hasSuffix($0) } }
    }

    private static func servers(of fragment: Fragment) -> [ServerConfiguration] {
        fragment.servers.map { server in
            var configuration = server.draft.configuration(with: fragment.defaults)
            configuration.origin = Origin(file: "")
            configuration.failure = server.draft.failure
            return configuration
        }
    }

    private static func check(_ server: ServerConfiguration) {
        expect((server.source == nil) == (server.failure != nil), "a server has a source, or the reason why not")
        for text in [server.description, server.placeholder] {
            if let text {
                guard let status = StatusText(fitting: text) else { return expect(false, "a text is not empty") }
                expect(status.rawValue.utf8.elementsEqual(text.utf8), "a text fits")
            }
        }
        expect(server.lifetime.map { $0 > .zero } ?? true, "a status lives for a while")
    }
}

/// Writes a tree as YAML.
private enum YAMLText {
    /// The tree in one line; only plain words that mean something stay plain.
    static func flow(_ node: YAMLNode) -> String {
        switch node.content {
        case .scalar(let text, _):
            if node.isNull { return "~" }
            // As it is written, because a text may be such a word, too.
            if node.bool != nil { return text }
            return quoted(text)
        case .sequence(let nodes): return "[\(nodes.map(flow).joined(separator: ", "))]"
        case .mapping(let members):
            return "{\(members.map { "? \(quoted($0.key.string ?? "")) : \(flow($0.value))" }.joined(separator: ", "))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C: quoted += "\\\(scalar)"
            case 0x20..<0x7F: quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}
