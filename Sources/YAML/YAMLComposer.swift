// SPDX-License-Identifier: Apache-2.0

/// Composes the events of one document into a tree.
struct YAMLComposer {
    private let events: YAMLEvents
    private var anchors: [String: YAMLNode] = [:]
    private var depth = 0
    private var aliasedNodes = 0

    init(_ events: YAMLEvents) { self.events = events }

    /// Returns the root of the only document; nil if there is none.
    mutating func document() throws(YAMLError) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            let (event, mark) = try events.next()
            switch event {
            case .streamEnd: return root
            case .streamStart, .documentEnd: continue
            case .documentStart:
                if root != nil { throw YAMLError(mark, "a second document starts here; keep one") }
            default: root = try node(event, at: mark)
            }
        }
    }

    /// Returns the node that begins with an event; nil at the end of a sequence or mapping.
    private mutating func node(_ event: YAMLEvents.Event, at mark: YAMLNode.Mark) throws(YAMLError) -> YAMLNode? {
        switch event {
        case .scalar(let text, let isPlain, let anchor):
            return keep(YAMLNode(.scalar(text, isPlain: isPlain), mark: mark), as: anchor)
        case .sequenceStart(let anchor):
            try descend(at: mark)
            let sequence = YAMLNode(.sequence(try elements()), mark: mark)
            depth -= 1
            return keep(sequence, as: anchor)
        case .mappingStart(let anchor):
            try descend(at: mark)
            let mapping = YAMLNode(.mapping(try members()), mark: mark)
            depth -= 1
            return keep(mapping, as: anchor)
        case .alias(let name): return try aliased(name, at: mark)
        default: return nil
        }
    }

    private mutating func next() throws(YAMLError) -> YAMLNode? {
        let (event, mark) = try events.next()
        return try node(event, at: mark)
    }

    private mutating func elements() throws(YAMLError) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while let element = try next() { elements.append(element) }
        return elements
    }

    private mutating func members() throws(YAMLError) -> [(key: YAMLNode, value: YAMLNode)] {
        var members: [(key: YAMLNode, value: YAMLNode)] = []
        var lines: [String: Int] = [:]
        while let key = try next() {
            guard let name = key.string else { throw YAMLError(key.mark, "a key must be text") }
            if name == "<<" { throw YAMLError(key.mark, "merge keys (<<) are not supported") }
            if let line = lines.updateValue(key.mark.line, forKey: name) {
                throw YAMLError(key.mark, "duplicate key “\(key.keyToShow)”, already in line \(line)")
            }
            // libyaml reports a value for each key; it is empty if the text has none.
            guard let value = try next() else { break }
            members.append((key, value))
        }
        return members
    }

    private mutating func aliased(_ name: String, at mark: YAMLNode.Mark) throws(YAMLError) -> YAMLNode {
        // An anchor is recorded after its node is complete, so an alias cannot refer to a node that contains it.
        guard let node = anchors[name] else {
            // The text is not shown because it may be a secret.
            throw YAMLError(
                mark, "text that starts with * must be quoted; an alias must be defined with & before it is used")
        }
        aliasedNodes += node.size
        guard aliasedNodes <= YAMLDocument.maximumAliasedNodes else {
            throw YAMLError(mark, "aliases add more than \(YAMLDocument.maximumAliasedNodes) values; use fewer")
        }
        return node
    }

    private mutating func descend(at mark: YAMLNode.Mark) throws(YAMLError) {
        depth += 1
        guard depth <= YAMLDocument.maximumDepth else {
            throw YAMLError(mark, "nested more than \(YAMLDocument.maximumDepth) levels deep")
        }
    }

    private mutating func keep(_ node: YAMLNode, as anchor: String?) -> YAMLNode {
        if let anchor { anchors[anchor] = node }
        return node
    }
}
