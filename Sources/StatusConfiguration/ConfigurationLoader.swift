// SPDX-License-Identifier: Apache-2.0

import Glibc
public import SourceKinds
import StatusAlerts
import StatusModel
import StatusSupport

/// The result of reading all files.
public struct LoadedConfiguration: Sendable {
    /// The configuration; for an unusable file, it contains the file's last valid content.
    public var configuration: Configuration
    /// The errors and warnings, in the order of the files.
    public var problems: [Problem]
    public var failedFiles: Set<String>

    /// The files in the order of reading, including unusable ones.
    public var files: [String] = []
    /// Whether the built-in configuration applies because there are no files.
    public var isEmbedded = false
    /// The valid contents of files, for the next load.
    public var usable = UsableFiles()

    /// Sorts problems by file and line; problems without a file come first.
    public func sorted(_ problems: [Problem]) -> [Problem] {
        let positions = Dictionary(zip(files, 1...), uniquingKeysWith: { first, _ in first })
        let keyed = problems.enumerated().map { offset, problem in
            (key: (positions[problem.origin.file] ?? 0, problem.origin.line ?? 0, offset), problem: problem)
        }
        return keyed.sorted { $0.key < $1.key }.map(\.problem)
    }

    /// Adds warnings of arguments that name what plugins in the executor's service do not see.
    public mutating func warnOfHiddenArguments() {
        for (name, server) in configuration.servers.sorted(by: { $0.key < $1.key }) {
            guard let reason = (server.source?.base as? ExecSettings)?.hiddenArgument else { continue }
            let advice = "; follow it with “file”, or see “Plugins” in statusd(8)"
            problems.append(Problem(.warning, at: server.origin, server: name, reason: reason + advice))
        }
        problems = sorted(problems)
    }

    /// The errors, without the warnings.
    public var errors: [Problem] { problems.filter { $0.severity == .error } }
}

/// The last valid content of each drop-in.
public struct UsableFiles: Sendable {
    /// The contents by file name, because a file replaces files of the same name in other directories.
    private var fragments: [Substring: Fragment] = [:]

    /// Creates an empty collection.
    public init() {}

    subscript(file: String) -> Fragment? {
        get { fragments[Self.name(file)] }
        set { fragments[Self.name(file)] = newValue }
    }

    private static func name(_ file: String) -> Substring { file.split(separator: "/").last ?? "" }
}

/// Reads and merges all files of a configuration.
public struct ConfigurationLoader: Sendable {
    private let location: ConfigurationLocation

    /// Creates a loader for the files at `location`.
    public init(location: ConfigurationLocation) { self.location = location }

    /// Reads and merges the files.
    ///
    /// An unusable drop-in disables only its own servers, which fail. The rest of its last valid content stays in
    /// force, so that values of other files do not replace it. If the drop-in was never valid, the servers that it
    /// seems to contain fail.
    ///
    /// - Parameter former: the valid contents from the previous load.
    /// - Throws: the ``Problem`` of the main file, or of a directory that cannot be read.
    public func load(after former: UsableFiles = UsableFiles()) throws(Problem) -> LoadedConfiguration {
        let files = FileList.find(at: location)
        let loaded = load(files, former)
        // Some content is unknown, so nothing may change.
        if let error = files.problems.first(where: { $0.severity == .error }) { throw error }
        guard let main = files.main, loaded.failedFiles.contains(main) else { return loaded }
        let errors = loaded.errors.filter { $0.origin.file == main }
        guard var first = errors.first else { return loaded }
        if errors.count > 1 { first.reason += "; run “statusctl verify” to see \(errors.count - 1) more" }
        throw first
    }

    /// Reads as much as possible, to find all errors.
    public func loadAll() -> LoadedConfiguration { load(FileList.findToCheck(at: location)) }

    private func load(_ files: FileList, _ former: UsableFiles = UsableFiles()) -> LoadedConfiguration {
        guard !files.all.isEmpty else {
            return LoadedConfiguration(
                configuration: .embedded, problems: files.problems, failedFiles: [], isEmbedded: true)
        }
        var merger = FragmentMerger(files, former: former)
        merger.add(files.problems)
        for file in files.all {
            do throws(Problem) {
                merger.add(try FragmentReader.read(try FileText.read(file), file: file), from: file)
            } catch {
                merger.fail(file, [error])
            }
        }
        var loaded = merger.finish()
        loaded.files = files.all
        loaded.problems = loaded.sorted(loaded.problems)
        return loaded
    }
}

/// Merges fragments; a later fragment overrides earlier ones.
private struct FragmentMerger {
    private let main: String?
    /// Whether all files of the configuration are known.
    private let isWhole: Bool
    private let former: UsableFiles
    private var usable = UsableFiles()
    private var configuration = Configuration()
    private var mqttOrigin: Origin?
    private var defaults = ServerOptions()
    private var drafts: [ServerName: ServerDraft] = [:]
    private var problems: [Problem] = []
    private var failedFiles: Set<String> = []
    /// Whether a file has a setting, or may have one because it is unusable.
    private var hasSettings = false

    init(_ files: FileList, former: UsableFiles) {
        main = files.main
        isWhole = !files.isPart
        self.former = former
    }

    mutating func add(_ fragment: Fragment, from file: String) {
        guard fragment.errors.isEmpty else {
            // Only the names of its servers are used.
            var servers = Fragment()
            servers.servers = fragment.servers
            return fail(file, fragment.errors + fragment.problems + fragment.failures, servers)
        }
        note(fragment, of: file)
        for (name, draft) in fragment.servers {
            // What “statusctl init” wrote is meant to be replaced.
            guard let former = drafts[name], !former.origin.file.hasSuffix("/conf.d/00-init.yaml") else { continue }
            problems.append(
                Problem(
                    .warning, at: draft.origin, server: name,
                    reason: "replaces the whole entry at \(former.origin); remove one of them"))
        }
        take(fragment)
        problems += fragment.problems
    }

    private mutating func take(_ fragment: Fragment) {
        if !fragment.isEmpty { hasSettings = true }
        if let select = fragment.select {
            (configuration.select, configuration.selectOrigin) = (select.server, select.origin)
        }
        if let acceptsAny = fragment.acceptsAny { configuration.acceptsAny = acceptsAny }
        defaults = fragment.defaults.over(defaults)
        for (limit, value) in fragment.limits { configuration.limits[keyPath: limit] = value }
        if let keep = fragment.history.keep { configuration.history.keep = keep }
        if let changes = fragment.history.changes { configuration.history.changes = changes }
        if let (settings, origin) = fragment.mqtt {
            if configuration.mqtt != nil, let former = mqttOrigin {
                problems.append(
                    Problem(
                        .warning, at: origin,
                        reason: "“mqtt” replaces the whole section at \(former); remove one of them"))
            }
            (configuration.mqtt, mqttOrigin) = (settings, origin)
        }
        for (name, receiver) in fragment.receivers {
            if let former = configuration.receivers.updateValue(receiver, forKey: name) {
                problems.append(
                    Problem(
                        .warning, at: receiver.origin,
                        reason: "the receiver \(name) replaces the one at \(former.origin); remove one of them"))
            }
        }
        for (name, draft) in fragment.servers { drafts[name] = draft }
    }

    mutating func add(_ problems: [Problem]) { self.problems += problems }

    /// Records an unusable file, whose last valid content stays in force.
    ///
    /// Only `servers` are known of its current content; they fail too.
    mutating func fail(_ file: String, _ problems: [Problem], _ servers: Fragment? = nil) {
        hasSettings = true
        failedFiles.insert(file)
        self.problems += problems
        guard var fragment = former[file] ?? servers, let first = problems.first else { return }
        note(fragment, of: file)
        let known = Set(fragment.servers.map(\.name))
        fragment.servers += servers?.servers.filter { !known.contains($0.name) } ?? []
        take(fragment.disabled(by: first))
    }

    private mutating func note(_ fragment: Fragment, of file: String) {
        // The main file is not kept: if it is invalid, the whole configuration is.
        if file != main { usable[file] = fragment }
    }

    consuming func finish() -> LoadedConfiguration {
        // Files with only comments, such as the package's own, count as no files.
        if !hasSettings, isWhole { configuration.acceptsAny = Configuration.embedded.acceptsAny }
        if let alert = defaults.alert { configuration.followedAlert = alert.rule }
        var successors: [ServerName: ServerName] = [:]
        for (name, draft) in drafts.sorted(by: { $0.key < $1.key }) {
            let server = draft.configuration(with: defaults)
            configuration.servers[name] = server
            if server.failure == nil { checkTimes(of: name, server) }
            if let former = server.formerName, let other = drafts[former] {
                problems.append(
                    Problem(
                        .warning, at: server.origin, server: name,
                        reason: "“was: \(former)” has no effect, because \(other.origin) still configures \(former)"))
            } else if let former = server.formerName, let first = successors.updateValue(name, forKey: former) {
                successors[former] = first
                problems.append(
                    Problem(
                        .warning, at: server.origin, server: name,
                        reason: "“was: \(former)” has no effect, because \(first) has the same"))
            }
            problems += draft.errors(of: name)
        }
        var groups = GroupChecker(configuration)
        groups.check(isComplete: isWhole && !configuration.acceptsAny && failedFiles.isEmpty)
        configuration.servers = groups.servers
        problems += groups.problems
        checkSelection()
        for name in configuration.servers.keys.sorted() { checkParent(of: name) }
        for (name, receiver) in configuration.receivers.sorted(by: { $0.key < $1.key }) {
            warn(ofUnknownServersOf: receiver, name)
        }
        var loaded = LoadedConfiguration(
            configuration: configuration, problems: problems, failedFiles: failedFiles)
        loaded.usable = usable
        return loaded
    }

    /// Warns if `slow` has no effect, or `ttl` is so short that a status becomes stale before the next check.
    private mutating func checkTimes(of name: ServerName, _ server: ServerConfiguration) {
        if let slow = server.source?.base.slow, slow >= server.schedule.timeout {
            let (slow, timeout) = (TimeSpan.text(slow), TimeSpan.text(server.schedule.timeout))
            problems.append(
                Problem(
                    .warning, at: server.origin, server: name,
                    reason: "“slow” (\(slow)) has no effect, because it is not below “timeout” (\(timeout)); "
                        + "write a shorter time, such as 500ms"))
        }
        guard server.source?.delivery == .checked, let timeToLive = server.timeToLive,
            timeToLive <= server.schedule.longestPause
        else {
            return
        }
        let pause = TimeSpan.text(server.schedule.longestPause)
        problems.append(
            Problem(
                .warning, at: server.origin, server: name,
                reason: "“ttl” is too short: a status may be stale before the next check; "
                    + "make it longer than \(pause) (1.1 times the interval, plus the timeout)"))
    }

    /// Warns of names and patterns of a receiver that no server has; posts may add more servers.
    private mutating func warn(ofUnknownServersOf receiver: ReceiverConfiguration, _ name: String) {
        guard isWhole, !configuration.acceptsAny, !configuration.servers.isEmpty,
            let patterns = receiver.settings.servers
        else { return }
        let servers = configuration.servers.keys.map(\.rawValue)
        let unknown = patterns.filter { pattern in !servers.contains { fnmatch(pattern, $0, 0) == 0 } }
        guard !unknown.isEmpty || patterns.isEmpty else { return }
        let names = unknown.map { "“\(VisibleText.escape($0))”" }.joined(separator: ", ")
        problems.append(
            Problem(
                .warning, at: receiver.origin,
                reason: patterns.isEmpty
                    ? "the receiver \(name) is told of no server, because “servers” is empty"
                    : "no server is configured that matches \(names) in “servers” of the receiver \(name)"))
    }

    /// Ignores a parent that does not exist, or without which a server could not be reached by way of itself.
    private mutating func checkParent(of name: ServerName) {
        guard let server = configuration.servers[name], let parent = server.alert.parent else { return }
        var (chain, next) = ([name], Optional(parent))
        while let above = next, above != name, !chain.contains(above) {
            chain.append(above)
            next = configuration.servers[above]?.alert.parent
        }
        let reason: String
        if configuration.servers[parent] == nil {
            reason =
                "“parent: \(parent)” names a server that is not configured"
                + Nearest.suggestion(for: parent.rawValue, among: configuration.servers.keys.sorted().map(\.rawValue))
        } else if next == name {
            reason = "“parent” goes in a circle: " + (chain + [name]).map(\.rawValue).joined(separator: ", ")
        } else {
            return
        }
        configuration.servers[name]?.alert.parent = nil
        problems.append(Problem(.error, at: server.origin, server: name, reason: reason))
    }

    /// Warns if `select` names a server that cannot exist.
    ///
    /// This is certain only if all files are known.
    private mutating func checkSelection() {
        guard let name = configuration.select, let origin = configuration.selectOrigin,
            name != .worst, configuration.servers[name] == nil,
            !configuration.acceptsAny, isWhole, failedFiles.isEmpty
        else { return }
        let nearest = Nearest.suggestion(for: name.rawValue, among: configuration.servers.keys.sorted().map(\.rawValue))
        let advice = nearest.isEmpty ? "; add it under “servers”" : nearest
        problems.append(
            Problem(
                .warning, at: origin, reason: "“select: \(name)” names a server that is not configured\(advice)"))
    }
}
