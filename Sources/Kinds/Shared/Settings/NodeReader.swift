// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import StatusSupport
public import YAML

/// Reads values from the YAML of one file; errors contain the line.
public struct NodeReader: Sendable {
    public let file: String

    public init(file: String) { self.file = file }

    public func origin(of node: YAMLNode) -> Origin { Origin(file: file, line: node.mark.line) }

    public func problem(at node: YAMLNode, _ reason: String) -> Problem {
        Problem(.error, at: origin(of: node), reason: reason)
    }

    /// Returns a warning about an unknown key, or an error if it is in a section, such as the settings of a source.
    ///
    /// Without a condition that is only misspelt, a check could be ok for ever.
    ///
    /// - Parameter advice: what to do; by default, a suggestion of a similar key or a list of known keys.
    public func unknown(
        _ key: YAMLNode, among known: [String], within section: String? = nil, of server: ServerName? = nil,
        advice: String? = nil
    ) -> Problem {
        let location = section.map { " in “\($0)”" } ?? ""
        let text = key.string ?? ""
        let nearest = text.contains(":") ? Self.spaceAdvice : Nearest.suggestion(for: text, among: known)
        let advice =
            advice.map { "; \($0)" }
            ?? (nearest.isEmpty ? "; known keys are \(known.map { "“\($0)”" }.joined(separator: ", "))" : nearest)
        return Problem(
            section == nil ? .warning : .error, at: origin(of: key), server: server,
            reason: "unknown key “\(self.key(key))”\(location)\(section == nil ? " is ignored" : "")\(advice)")
    }

    /// The advice if a key contains a colon.
    public static let spaceAdvice = "; write a space after the colon"

    /// Returns a key or the name of a unit, safe to show.
    public func key(_ node: YAMLNode) -> String { VisibleText.escape(node.keyToShow) }

    /// Reads a text that is neither null nor empty.
    public func string(_ node: YAMLNode, of key: String, _ what: String = "text") throws(Problem) -> String {
        guard let text = node.string, !node.isNull, !text.utf8.contains(0) else {
            throw problem(at: node, "“\(key)” must be \(what)")
        }
        if text.isEmpty { throw problem(at: node, "“\(key)” must not be empty") }
        return text
    }

    /// Reads a text for people, escaped and cut if it is too long.
    public func text(_ node: YAMLNode, of key: String) throws(Problem) -> String {
        guard let text = StatusText(fitting: try string(node, of: key)) else {
            throw problem(at: node, "“\(key)” must be text")
        }
        return text.rawValue
    }

    public func name(_ node: YAMLNode, of key: String) throws(Problem) -> ServerName {
        guard let text = node.string, let name = ServerName(text) else {
            throw problem(at: node, "invalid server name in “\(key)”: \(ServerName.rule)")
        }
        return name
    }

    public func flag(_ node: YAMLNode, of key: String) throws(Problem) -> Bool {
        guard let isOn = node.bool else { throw problem(at: node, "“\(key)” must be true or false") }
        return isOn
    }

    public func count(_ node: YAMLNode, of key: String, in range: ClosedRange<Int>) throws(Problem) -> Int {
        guard let text = node.string, let count = Count.parse(text), range.contains(count) else {
            let example = range.contains(1 << 20) ? ", such as 1M" : range.contains(1 << 10) ? ", such as 1K" : ""
            throw problem(
                at: node, "“\(key)” must be a whole number from \(range.lowerBound) to \(range.upperBound)\(example)")
        }
        return count
    }

    public func duration(_ node: YAMLNode, of key: String, in range: ClosedRange<Duration>) throws(Problem) -> Duration
    {
        guard let text = node.string, let duration = TimeSpan.parse(text), range.contains(duration) else {
            let example = range.contains(.seconds(30)) ? "30s or 5min" : "5min or 30d"
            let (shortest, longest) = (TimeSpan.text(range.lowerBound), TimeSpan.text(range.upperBound))
            throw problem(at: node, "“\(key)” must be a time from \(shortest) to \(longest), such as \(example)")
        }
        return duration
    }

    /// Reads a percentage such as `85%` or `2.5%`; returns 85 or 2.5.
    ///
    /// A number without the sign is refused, because it could also be a part of one.
    public func percentage(
        _ node: YAMLNode, of key: String, in range: ClosedRange<Double> = 0...100
    ) throws(Problem) -> Double {
        let number = node.string.flatMap { $0.hasSuffix("%") ? Count.parseDecimal($0.dropLast()) : nil }
        guard let number, range.contains(number) else {
            let (least, most) = (MeasuredValue.text(range.lowerBound, "%"), MeasuredValue.text(range.upperBound, "%"))
            throw problem(at: node, "“\(key)” must be a percentage such as 85%, from \(least) to \(most)")
        }
        return number
    }

    /// Reads a number such as `2` or `1.5`.
    public func number(_ node: YAMLNode, of key: String, in range: ClosedRange<Double>) throws(Problem) -> Double {
        guard let number = node.string.flatMap({ Count.parseDecimal($0[...]) }), range.contains(number) else {
            let (least, most) = (MeasuredValue.text(range.lowerBound, ""), MeasuredValue.text(range.upperBound, ""))
            throw problem(at: node, "“\(key)” must be a number such as 1.5, from \(least) to \(most)")
        }
        return number
    }

    /// Reads one of a few times.
    public func duration(_ node: YAMLNode, of key: String, among known: [Duration]) throws(Problem) -> Duration {
        guard let duration = node.string.flatMap(TimeSpan.parse), known.contains(duration) else {
            let names = known.map(TimeSpan.text)
            let most = names.dropLast().joined(separator: ", ")
            throw problem(at: node, "“\(key)” must be \(most) or \(names.last ?? ""), which the kernel measures")
        }
        return duration
    }

    /// Reads a flag where a mapping is also allowed.
    func isOn(_ node: YAMLNode, of key: String, example: String) throws(Problem) -> Bool {
        guard let isOn = node.bool else {
            throw problem(at: node, "“\(key)” must be true, false or a mapping such as “\(example)”")
        }
        return isOn
    }

    /// Reads the time from which on an answer is slow.
    public func slow(_ node: YAMLNode) throws(Problem) -> Duration {
        try duration(node, of: "slow", in: .milliseconds(1)...Duration.seconds(3600))
    }

    /// Reads a list of strings; `what` describes it in errors.
    public func strings(_ node: YAMLNode, of key: String, _ what: String) throws(Problem) -> [String] {
        guard let nodes = node.sequence else { throw problem(at: node, "“\(key)” must be \(what)") }
        var strings: [String] = []
        for node in nodes {
            guard let string = node.string, !node.isNull, !string.utf8.contains(0) else {
                throw problem(at: node, "each part of “\(key)” must be text; quote it")
            }
            strings.append(string)
        }
        return strings
    }
}

/// Reads whole numbers with systemd's suffixes for sizes, which are powers of 1024: `64K`, `1M`.
enum Count {
    /// Reads a non-negative number; returns nil if `text` is invalid or the number is too large.
    static func parse(_ text: String) -> Int? {
        var digits = text[...]
        var factor = 1
        switch digits.last {
        case "K": factor = 1 << 10
        case "M": factor = 1 << 20
        case "G": factor = 1 << 30
        default: break
        }
        if factor > 1 { digits.removeLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), let number = Int(digits) else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }

    /// Reads a non-negative number with or without a decimal point, such as `85` or `2.5`.
    static func parseDecimal(_ text: Substring) -> Double? {
        guard text.utf8.first.map(isDigit) == true, text.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}
