// SPDX-License-Identifier: Apache-2.0

/// The last run of a server's check, so that a plugin can be debugged.
///
/// It is a class, because it is large and most servers have none.
public final class CheckRun: Sendable, Hashable {
    /// The plugin and its arguments; nil for a check without a plugin.
    public let command: [String]?
    /// When it began, and how long it took; nil if it has not run since the daemon started.
    public let startedAt: Timestamp?
    public let milliseconds: Int?
    /// When the next run begins, about.
    public let next: Timestamp?
    public let output: PluginOutput?
    /// The systemd unit that is followed, instead of all the others.
    public let unit: String?

    public init(
        command: [String]? = nil, startedAt: Timestamp? = nil, milliseconds: Int? = nil, next: Timestamp? = nil,
        output: PluginOutput? = nil, unit: String? = nil
    ) {
        self.command = command
        self.startedAt = startedAt
        self.milliseconds = milliseconds
        self.next = next
        self.output = output
        self.unit = unit
    }

    public static func == (left: CheckRun, right: CheckRun) -> Bool {
        left.command == right.command && left.startedAt == right.startedAt && left.milliseconds == right.milliseconds
            && left.next == right.next && left.output == right.output && left.unit == right.unit
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(startedAt) }
}

/// What a plugin wrote, and how it ended.
public struct PluginOutput: Sendable, Hashable {
    /// The maximum length in bytes of each text.
    public static let maximumBytes = 8192

    /// The beginning of its standard output, and of its standard error: visible lines.
    public let output, errors: String
    /// The exit status; nil if a signal ended it.
    public let exitStatus: Int?
    public let signal: Int?

    /// Makes the texts visible, and cuts them.
    public init(output: String, errors: String, exitStatus: Int? = nil, signal: Int? = nil) {
        self.output = Self.visible(output)
        self.errors = Self.visible(errors)
        self.exitStatus = exitStatus
        self.signal = signal
    }

    private static func visible(_ text: String) -> String {
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            // Many plugins indent with tabs, and some end lines as Windows does.
            let line = line.last == "\r" ? line.dropLast() : line
            return VisibleText.escape(String(String.UnicodeScalarView(line.map { $0 == "\t" ? " " : $0 })))
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        let visible = lines.joined(separator: "\n")
        guard visible.utf8.count > maximumBytes else { return visible }
        let end = visible.utf8.index(visible.startIndex, offsetBy: maximumBytes - cut.utf8.count)
        return String(visible.unicodeScalars[..<end]) + cut
    }

    private static let cut = "… (cut)"

    /// The lines after the first one with a text, up to `|`, and the performance data: what follows `|` in that line,
    /// and after the long text (Nagios plugin API: `$LONGSERVICEOUTPUT$`, `$SERVICEPERFDATA$`).
    ///
    /// If a plugin wrote only to standard error, its text comes from there.
    private var parts: (longOutput: String, performanceData: String) {
        let stream = output.isEmpty ? errors : output
        let lines = stream.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        let start = lines.firstIndex { $0.prefix { $0 != "|" }.contains { $0 != " " } } ?? 0
        let rest = lines.dropFirst(start + 1)
        guard let first = lines.dropFirst(start).first else { return ("", "") }
        if output.isEmpty { return (Self.text(rest), "") }
        let bar = rest.firstIndex { $0.contains("|") } ?? rest.endIndex
        var (long, data) = (Array(rest[..<bar]), [first.drop { $0 != "|" }.dropFirst()])
        if bar < rest.endIndex {
            let last = rest[bar].prefix { $0 != "|" }
            if !last.isEmpty { long.append(last) }
            data += [rest[bar].dropFirst(last.count + 1)] + rest[(bar + 1)...]
        }
        let words = data.flatMap { $0.split(separator: " ") }.map { String($0) }
        return (Self.text(long[...]), words.joined(separator: " "))
    }

    private static func text(_ lines: some Sequence<Substring.UnicodeScalarView>) -> String {
        lines.map { String($0) }.joined(separator: "\n")
    }

    /// The lines after the first; nil for none.
    public var longOutput: String? { parts.longOutput.isEmpty ? nil : parts.longOutput }

    /// The performance data in one line; nil for none.
    public var performanceData: String? { parts.performanceData.isEmpty ? nil : parts.performanceData }
}
