// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel
import Suggestions

/// What came of reading all files.
public struct LoadedConfiguration: Sendable {
    /// What the files say together, those that cannot be used as they were when they could, or left out.
    public var configuration: Configuration
    /// What is not as it should be, in the order of the files.
    public var problems: [Problem]
    /// The files that are disabled as a whole.
    public var failedFiles: Set<String>

    /// The files that were read, or should have been, in order.
    public var files: [String] = []
    /// Whether no file was found, so that what is built in holds.
    public var isEmbedded = false
    /// What is to be known when the files are read again.
    public var usable = UsableFiles()

    /// Puts the problems into the order of the files, and of their lines; those of no file that was read come first.
    fileprivate mutating func sortProblems() {
        let places = Dictionary(zip(files, 1...), uniquingKeysWith: { first, _ in first })
        let keyed = problems.enumerated().map { offset, problem in
            (key: (places[problem.origin.file] ?? 0, problem.origin.line ?? 0, offset), problem: problem)
        }
        problems = keyed.sorted { $0.key < $1.key }.map(\.problem)
    }

    /// The problems that disable something.
    public var errors: [Problem] { problems.filter { $0.severity == .error } }
}

/// What each drop-in says, or said when it could last be used.
public struct UsableFiles: Sendable {
    /// By the names of the files: a file of the same name in a more important directory takes the place of another.
    private var fragments: [Substring: ConfigurationFragment] = [:]

    /// Nothing known yet.
    public init() {}

    subscript(file: String) -> ConfigurationFragment? {
        get { fragments[Self.name(file)] }
        set { fragments[Self.name(file)] = newValue }
    }

    private static func name(_ file: String) -> Substring { file.split(separator: "/").last ?? "" }
}

/// Reads all files of a configuration and puts them together.
public struct ConfigurationLoader: Sendable {
    private let location: ConfigurationLocation

    /// A loader for the files at `location`.
    public init(location: ConfigurationLocation) { self.location = location }

    /// Reads the files as they are now.
    ///
    /// A drop-in that cannot be used disables its servers and nothing else: what it said when it could last be used goes on to hold, so
    /// that nothing takes its place that was not meant, and its servers are failed. At first these are the servers that it seems to
    /// describe, as far as it can be read.
    ///
    /// - Parameter former: what the reading before this one came to know.
    /// - Throws: the ``Problem`` of the main file, without which nothing is known, or of a directory that cannot be read.
    public func load(after former: UsableFiles = UsableFiles()) throws(Problem) -> LoadedConfiguration {
        let files = ConfigurationFiles.find(at: location)
        let loaded = load(files, former)
        // What cannot be looked at might be anything; so nothing is changed.
        if let error = files.problems.first(where: { $0.severity == .error }) { throw error }
        if let main = files.main, loaded.failedFiles.contains(main) {
            try throwFirst(of: loaded.errors.filter { $0.origin.file == main })
        }
        return loaded
    }

    /// Throws the first error, which says how many others there are.
    private func throwFirst(of errors: [Problem]) throws(Problem) {
        guard var first = errors.first else { return }
        if errors.count > 1 { first.reason += "; \(errors.count - 1) more, run “statusctl verify” to see all" }
        throw first
    }

    /// The same, but reads as much as can be read, for whoever wants to know all that is wrong.
    public func loadAll() -> LoadedConfiguration { load(ConfigurationFiles.findToCheck(at: location)) }

    private func load(_ files: ConfigurationFiles, _ former: UsableFiles = UsableFiles()) -> LoadedConfiguration {
        guard !files.isEmpty else {
            return LoadedConfiguration(
                configuration: .embedded, problems: files.problems, failedFiles: [], isEmbedded: true)
        }
        var merger = ConfigurationMerger(files, former: former)
        merger.add(files.problems)
        for file in (files.main.map { [$0] } ?? []) + files.dropIns {
            do throws(Problem) {
                merger.add(try ConfigurationReader.read(try ConfigurationText.read(file), file: file), from: file)
            } catch {
                merger.fail(file, [error])
            }
        }
        var loaded = merger.finish()
        loaded.files = [files.main].compactMap(\.self) + files.dropIns
        loaded.sortProblems()
        return loaded
    }
}

/// Puts fragments together: what is said later holds.
private struct ConfigurationMerger {
    private let main: String?
    /// Whether all files of the configuration are read.
    private let isWhole: Bool
    private let former: UsableFiles
    private var usable = UsableFiles()
    private var configuration = Configuration()
    private var defaults = ServerOptions()
    private var drafts: [ServerName: ServerDraft] = [:]
    private var problems: [Problem] = []
    private var failedFiles: Set<String> = []

    init(_ files: ConfigurationFiles, former: UsableFiles) {
        main = files.main
        isWhole = !files.isPart
        self.former = former
    }

    mutating func add(_ fragment: ConfigurationFragment, from file: String) {
        guard fragment.errors.isEmpty else {
            // Which servers it describes is known.
            var servers = ConfigurationFragment()
            servers.servers = fragment.servers
            return fail(file, fragment.errors + fragment.problems + fragment.failures, servers)
        }
        note(fragment, of: file)
        take(fragment)
        problems += fragment.problems
    }

    private mutating func take(_ fragment: ConfigurationFragment) {
        if let select = fragment.select {
            (configuration.select, configuration.selectOrigin) = (select.server, select.origin)
        }
        if let acceptsAny = fragment.acceptsAny { configuration.acceptsAny = acceptsAny }
        defaults = fragment.defaults.over(defaults)
        for (limit, value) in fragment.limits { configuration.limits[keyPath: limit] = value }
        for (name, draft) in fragment.servers { drafts[name] = draft }
    }

    mutating func add(_ problems: [Problem]) { self.problems += problems }

    /// Notes a file that cannot be used: what it said before holds, else no more than `servers` is known of it.
    mutating func fail(_ file: String, _ problems: [Problem], _ servers: ConfigurationFragment? = nil) {
        failedFiles.insert(file)
        self.problems += problems
        guard let fragment = former[file] ?? servers, let first = problems.first else { return }
        note(fragment, of: file)
        take(fragment.disabled(by: first))
    }

    private mutating func note(_ fragment: ConfigurationFragment, of file: String) {
        // Without the main file nothing is changed at all.
        if file != main { usable[file] = fragment }
    }

    consuming func finish() -> LoadedConfiguration {
        for (name, draft) in drafts.sorted(by: { $0.key < $1.key }) {
            let server = draft.configuration(with: defaults)
            configuration.servers[name] = server
            if server.failure == nil { checkTimes(of: name, server) }
            problems += draft.errors(of: name)
        }
        checkSelection()
        var loaded = LoadedConfiguration(
            configuration: configuration, problems: problems, failedFiles: failedFiles)
        loaded.usable = usable
        return loaded
    }

    /// A check whose status is stale before the next load is due was not meant so.
    private mutating func checkTimes(of name: ServerName, _ server: ServerConfiguration) {
        guard server.source?.delivery == .checked, let timeToLive = server.timeToLive,
            timeToLive <= server.schedule.longestPause
        else {
            return
        }
        problems.append(
            Problem(
                .warning, at: server.origin, server: name,
                reason:
                    "“ttl” is too short: a status may be stale before the next check; make it longer than \(TimeSpan.text(server.schedule.longestPause)) (1.1 times the interval, plus the timeout)"
            ))
    }

    /// Where all files are known, a first selection that nobody can ever post to is a mistake.
    private mutating func checkSelection() {
        guard let name = configuration.select, let origin = configuration.selectOrigin,
            configuration.servers[name] == nil,
            !configuration.acceptsAny, isWhole, failedFiles.isEmpty
        else { return }
        let nearest = Nearest.suggestion(for: name.rawValue, among: configuration.servers.keys.sorted().map(\.rawValue))
        let advice = nearest.isEmpty ? "; add it under “servers”" : nearest
        problems.append(
            Problem(
                .warning, at: origin, reason: "“select: \(name)” names a server that is not configured\(advice)"))
    }
}
