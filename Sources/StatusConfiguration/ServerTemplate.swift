// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import YAML

/// Makes many alike entries of `servers` from one: `template: { for: [web1, web2], tcp: "{}:80" }`.
struct ServerTemplate {
    /// The key below `servers`; its value is a template, or a list of templates.
    static let key = "template"
    /// The maximum weight of all entries that the templates of a file make.
    ///
    /// Without a limit, a file of 1 MiB could make 100,000 entries of nearly the same size.
    private static let maximumWeight = 8 << 20

    /// An entry that a template makes.
    struct Entry {
        /// Where it comes from, the item of `for`.
        let item: YAMLNode
        let name: String
        let node: YAMLNode
    }

    let reader: NodeReader
    private var weight = 0

    init(_ reader: NodeReader) { self.reader = reader }

    /// Whether the value of ``key`` has templates; otherwise it is the entry of a server with that name.
    static func isTemplate(_ node: YAMLNode) -> Bool {
        node.sequence != nil || node.value(of: "for") != nil || node.value(of: "name") != nil
            || node.weight(withBraces: 0) != node.weight(withBraces: 1)
    }

    /// Returns the entries of a template, or of a list of templates.
    mutating func entries(of node: YAMLNode) throws(Problem) -> [Entry] {
        var entries: [Entry] = []
        for template in node.sequence ?? [node] { try expand(template, into: &entries) }
        return entries
    }

    private mutating func expand(_ template: YAMLNode, into entries: inout [Entry]) throws(Problem) {
        let what = "a list of texts, such as [web1, web2]"
        guard let items = template.value(of: "for") else {
            throw reader.problem(at: template, "a template needs “for”, \(what)")
        }
        let texts = try reader.strings(items, of: "for", what)
        guard let nodes = items.sequence, !nodes.isEmpty, !texts.contains("") else {
            throw reader.problem(at: items, "“for” must be \(what)")
        }
        let name = template.value(of: "name")
        if let name, name.replacingBraces(with: "").string == name.string {
            throw reader.problem(at: name, "“name” must contain {}, which stands for each part of “for”")
        }
        let entry = template.without(["for", "name"])
        // Servers to which programs post need nothing else than names.
        let isPosted = !["push", "notify"].allSatisfy { entry.value(of: $0) == nil }
        guard isPosted || entry.weight(withBraces: 0) != entry.weight(withBraces: 1) else {
            throw reader.problem(
                at: template, "no value of the template contains {} in quotes, so all of its servers would be the same")
        }
        for (item, text) in zip(nodes, texts) {
            weight += entry.weight(withBraces: text.utf8.count)
            guard weight <= Self.maximumWeight else {
                throw reader.problem(
                    at: template,
                    "the templates of this file make more than \(Self.maximumWeight >> 20) MiB of entries; use fewer")
            }
            entries.append(
                Entry(
                    item: item, name: name?.replacingBraces(with: text).string ?? text,
                    node: entry.replacingBraces(with: text)))
        }
    }
}
