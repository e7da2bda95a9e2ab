// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusAlerts
import StatusModel
import StatusSupport
import YAML

/// A server's entry in one file, before `defaults` are applied.
struct ServerDraft: Sendable {
    var description: String?
    var formerName: ServerName?
    var parent: ServerName?
    var source: AnySourceSettings?
    var options = ServerOptions()
    var failure: String?
    var origin: Origin
    /// The reason why the file has become unusable; nil if it is usable.
    var fileProblem: Problem?
    /// The errors in addition to ``failure``, which is the first one.
    var furtherErrors: [Problem] = []

    /// Returns the errors in the entry, without the errors of its file.
    func errors(of name: ServerName) -> [Problem] {
        guard let failure, fileProblem == nil else { return [] }
        return [Problem(.error, at: origin, server: name, reason: failure)] + furtherErrors
    }

    /// Returns the server, with `defaults` for missing options.
    func configuration(with defaults: ServerOptions) -> ServerConfiguration {
        let options = options.over(defaults)
        var configuration = ServerConfiguration(
            description: description, source: source, placeholder: options.placeholder,
            failure: fileProblem.map(\.description) ?? failure.map { "\(origin): \($0)" }, origin: origin)
        configuration.formerName = formerName
        configuration.alert = options.alert?.rule ?? AlertRule()
        configuration.alert.parent = parent
        configuration.alert.isChecked = source?.delivery == .checked
        // Unused options are dropped, so that they do not count as a change.
        if configuration.runsChecks { configuration.schedule = options.schedule }
        // Others need no `ttl`: their status is correct until the next event.
        switch source?.delivery {
        case .followed: configuration.runtime = options.runtime
        case .posted, .checked, nil: configuration.timeToLive = options.timeToLive
        case .derived: break
        }
        return configuration
    }
}

/// The options that a server's entry may set, or `defaults` for all servers.
struct ServerOptions: Sendable {
    var placeholder: String?
    var timeToLive: Duration?
    var interval: Duration?
    var timeout: Duration?
    var failures: Int?
    var successes: Int?
    var runtime: Duration?
    var alert: AlertOptions?

    static let keys = ["placeholder", "ttl", "interval", "timeout", "failures", "successes", "runtime", "alert"]

    static let scheduleKeys: Set = ["interval", "timeout", "failures", "successes"]

    /// Reads the value of an option; returns false if `key` is not an option.
    mutating func read(_ key: String?, _ value: YAMLNode, with reader: NodeReader) throws(Problem) -> Bool {
        switch key {
        case "placeholder": placeholder = try reader.text(value, of: "placeholder")
        case "ttl": timeToLive = try reader.duration(value, of: "ttl", in: .milliseconds(100)...Self.longest)
        case "interval": interval = try reader.duration(value, of: "interval", in: .milliseconds(100)...Self.longest)
        case "timeout": timeout = try reader.duration(value, of: "timeout", in: .milliseconds(10)...Self.longest)
        case "failures": failures = try reader.count(value, of: "failures", in: 1...1000)
        case "successes": successes = try reader.count(value, of: "successes", in: 1...1000)
        case "runtime": runtime = try reader.duration(value, of: "runtime", in: .milliseconds(100)...Self.longest)
        case "alert": alert = try AlertOptions.read(value, with: reader)
        default: return false
        }
        return true
    }

    private static let longest = Duration.seconds(366 * 86_400)

    /// Returns an explanation if an option does not apply to a delivery; nil if it does.
    static func explanation(of key: String, for delivery: SourceDelivery) -> String? {
        switch (key, delivery) {
        case ("ttl", .followed): "the status of a unit is current while the system bus is connected"
        case ("ttl", .derived): "the status of a group follows from its members at once"
        case ("runtime", .posted), ("runtime", .checked), ("runtime", .derived):
            "it applies to \(list(of: [.followed]))"
        case (let key, .posted) where scheduleKeys.contains(key), (let key, .derived) where scheduleKeys.contains(key):
            "it applies to \(list(of: [.checked, .followed]))"
        default: nil
        }
    }

    /// Lists the source kinds with one of these deliveries: “a, b and c”.
    private static func list(of deliveries: [SourceDelivery]) -> String {
        let keys = deliveries.flatMap { delivery in SourceKinds.all.filter { $0.delivery == delivery }.map { $0.key } }
        return "\(keys.dropLast().joined(separator: ", ")) and \(keys.last ?? "")"
    }

    /// Returns these options, with `others` for the options that are not set.
    func over(_ others: ServerOptions) -> ServerOptions {
        ServerOptions(
            placeholder: placeholder ?? others.placeholder, timeToLive: timeToLive ?? others.timeToLive,
            interval: interval ?? others.interval, timeout: timeout ?? others.timeout,
            failures: failures ?? others.failures, successes: successes ?? others.successes,
            runtime: runtime ?? others.runtime, alert: alert?.over(others.alert) ?? others.alert)
    }

    var schedule: CheckSchedule {
        var schedule = CheckSchedule()
        if let interval { schedule.interval = interval }
        if let timeout { schedule.timeout = timeout }
        if let failures { schedule.failures = failures }
        if let successes { schedule.successes = successes }
        return schedule
    }
}

/// Reads one server's mapping.
struct ServerReader {
    let reader: NodeReader
    let name: ServerName
    private(set) var problems: [Problem] = []

    init(_ reader: NodeReader, name: ServerName) {
        self.reader = reader
        self.name = name
    }

    static let keys = ownKeys + SourceKinds.keys
    private static let ownKeys = ["description", "was", "parent"] + ServerOptions.keys

    /// Reads the entry; an error in it disables only this server.
    mutating func read(_ node: YAMLNode, key: YAMLNode) -> ServerDraft {
        var draft = ServerDraft(origin: reader.origin(of: key))
        var errors: [Problem] = []
        do throws(Problem) { try read(node, into: &draft, &errors) } catch { errors.append(error) }
        if let first = errors.first {
            draft.source = nil
            draft.failure = first.reason
            draft.origin = first.origin
        }
        draft.furtherErrors = (errors.dropFirst() + problems.filter { $0.severity == .error }).map { error in
            var error = error
            error.server = name
            return error
        }
        problems.removeAll { $0.severity == .error }
        return draft
    }

    private mutating func read(
        _ node: YAMLNode, into draft: inout ServerDraft, _ errors: inout [Problem]
    ) throws(Problem) {
        guard let mapping = node.mapping else {
            let isMember = Self.keys.contains(name.rawValue)
            let advice =
                node.string?.contains(":") == true
                ? NodeReader.spaceAdvice : isMember ? "; indent this line below the name of a server" : ""
            throw reader.problem(at: node, "must be a mapping such as “{ push: true }”\(advice)")
        }
        var sources: [AnySourceSettings] = []
        var options: [YAMLNode] = []
        let kinds = mapping.compactMap { $0.key.string.flatMap(SourceKinds.kind) }
        for (key, value) in mapping {
            do throws(Problem) {
                if let kind = kinds.first(where: { isMisplaced(key, of: $0) }) {
                    throw misplaced(key, kind.key, kind.keys)
                }
                if try draft.options.read(key.string, value, with: reader) {
                    options.append(key)
                } else {
                    try read(key, value, into: &draft, &sources, known: kinds.isEmpty ? Self.keys : Self.ownKeys)
                }
            } catch {
                errors.append(error)
            }
        }
        // The delivery of an invalid source is unknown.
        if !errors.isEmpty, sources.isEmpty { return }
        guard sources.count == 1 else {
            let keys = sources.isEmpty ? SourceKinds.keys : sources.map(\.key)
            let advice = keys.map { "“\($0)”" }.joined(separator: ", ")
            throw reader.problem(
                at: node,
                sources.isEmpty
                    ? "has no source; add one of \(advice)"
                    : "has several sources: \(advice); keep one, and make another server of each other one")
        }
        draft.source = sources[0]
        for key in options { warnIfMeaningless(key, for: sources[0]) }
    }

    private mutating func read(
        _ key: YAMLNode, _ value: YAMLNode, into draft: inout ServerDraft, _ sources: inout [AnySourceSettings],
        known: [String]
    ) throws(Problem) {
        if key.string == "description" {
            draft.description = try reader.text(value, of: "description")
        } else if key.string == "was" {
            let former = try reader.name(value, of: "was")
            if former == name {
                throw reader.problem(at: value, "“was” must be the server's name before it was renamed")
            }
            draft.formerName = former
        } else if key.string == "parent" {
            draft.parent = try reader.name(value, of: "parent")
        } else if let kind = key.string.flatMap(SourceKinds.kind) {
            if let source = try read(value, of: kind) { sources.append(source) }
        } else {
            let advice = key.string == "for" ? "write “for” below “\(ServerTemplate.key)”" : nil
            problems.append(reader.unknown(key, among: known, of: name, advice: advice))
        }
    }

    /// Whether a key is one of a source that the entry has, or nearly, and not one of the entry.
    private func isMisplaced(_ key: YAMLNode, of kind: any SourceSettings.Type) -> Bool {
        guard let text = key.string, !Self.keys.contains(text) else { return false }
        return kind.keys.contains(Nearest.word(near: text, among: Self.keys + kind.keys) ?? text)
    }

    /// The error for such a key: without it, the source would mean something else.
    private func misplaced(_ key: YAMLNode, _ kind: String, _ keys: [String]) -> Problem {
        let text = key.string ?? ""
        let name = Nearest.word(near: text, among: keys) ?? text
        let others = name == keys.first ? "" : "\(keys.first ?? ""): …, "
        let wrong = name == text ? "" : "unknown key “\(reader.key(key))”; "
        return reader.problem(
            at: key, "\(wrong)“\(name)” belongs to “\(kind)”; write it there, as in “\(kind): { \(others)\(name): … }”")
    }

    private mutating func read<Settings: SourceSettings>(
        _ node: YAMLNode, of kind: Settings.Type
    ) throws(Problem) -> AnySourceSettings? {
        var settingsReader = SettingsReader(reader, server: name)
        defer { problems += settingsReader.problems }
        return try kind.read(node, with: &settingsReader).map(AnySourceSettings.init)
    }

    /// Warns of a key that does not apply to this source kind.
    private mutating func warnIfMeaningless(_ key: YAMLNode, for source: AnySourceSettings) {
        guard let word = key.string, let explanation = ServerOptions.explanation(of: word, for: source.delivery)
        else { return }
        problems.append(
            Problem(
                .warning, at: reader.origin(of: key), server: name,
                reason: "“\(reader.key(key))” does not apply to “\(source.key)” and is ignored; \(explanation)"))
    }
}
