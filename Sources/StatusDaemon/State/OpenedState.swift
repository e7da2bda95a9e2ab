// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusModel
import StatusMonitor
import StatusStore

/// Where the daemon keeps its state.
enum StateLocation: Sendable, Equatable {
    /// The usual directory (statusd(8)).
    case standard
    case directory(String)
    case none
}

/// The store with which the daemon starts, and the state of an earlier run in it.
struct OpenedState: Sendable {
    /// The store; nil if there is none.
    var store: StatusStore?
    /// The contents of the store.
    var opening = StatusStore.Opening()
    /// Whether no daemon has used the directory before, so that a file in it must be a copy.
    private var isNewDirectory = false
    /// Keeps other daemons from using the directory; nil if there is no store, or the disk has no room for a lock.
    var lock: FileLock?
    /// Why there is no store; nil if none is wanted.
    var problem: String?

    /// How long opening may take.
    private static let limit = Duration.seconds(10)

    /// A state without a store.
    init(problem: String? = nil) { self.problem = problem }

    /// Opens the store, on a separate thread, because a disk may block.
    ///
    /// A daemon without a store works, but a restart forgets everything.
    @EventLoop
    static func open(_ location: StateLocation, environment: [String: String]) async -> OpenedState {
        if location == .none { return OpenedState() }
        guard let directory = directory(location, environment) else {
            return OpenedState(problem: "no directory for the state; set STATE_DIRECTORY, or use “--state none”")
        }
        let boot = bootID(environment)
        let setting = if case .directory = location { "--state" } else { "STATE_DIRECTORY" }
        let opened = await BlockingThread.run(within: limit) { open(directory, setBy: setting, boot: boot) }
        return opened ?? OpenedState(problem: "the directory \(directory) does not answer")
    }

    /// The state with which the monitor continues.
    var memory: LedgerMemory? {
        var memory = opening.contents.memory
        // Another daemon may continue the same log, because this file, or its original, still counts as complete.
        if opening.failure != nil || isNewDirectory { memory?.isComplete = false }
        return memory
    }

    private static func directory(_ location: StateLocation, _ environment: [String: String]) -> String? {
        if case .directory(let path) = location { return path }
        if let directory = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(directory) }
        if geteuid() == 0 { return "/var/lib/statusd" }
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/statusd" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.local/state/statusd"
    }

    /// - Parameter setting: the option or environment variable that sets the directory.
    private static func open(_ directory: String, setBy setting: String, boot: String) -> OpenedState {
        guard directory.hasPrefix("/") else {
            return OpenedState(problem: "STATE_DIRECTORY is “\(directory)”; set it to an absolute path")
        }
        if let problem = make(directory) {
            return OpenedState(problem: "\(problem); fix this, or choose another directory with \(setting)")
        }
        do throws(DaemonError) {
            let trusted = TrustedDirectory(directory, variable: setting, example: "/var/lib/statusd-root")
            try trusted.checkParents()
            try trusted.check()
        } catch {
            return OpenedState(problem: error.description)
        }
        var state = OpenedState()
        state.isNewDirectory = access(directory + "/statusd.lock", F_OK) != 0
        do throws(IOError) {
            state.lock = try FileLock(at: directory + "/statusd.lock")
        } catch {
            // On a full or read-only disk, the daemon works without a lock.
            guard error.code != .addressInUse else { return OpenedState(problem: problem(ofOther: directory)) }
        }
        let store = StatusStore(directory: directory, boot: boot)
        state.opening = store.open(at: .now())
        state.store = store
        return state
    }

    private static func problem(ofOther directory: String) -> String {
        let holder = "“fuser \(directory)/statusd.lock” shows its process"
        return "another statusd uses the directory \(directory) (\(holder)); stop it, then restart this one"
    }

    /// Creates the directory and its parents; returns the reason if it cannot, or nil.
    private static func make(_ directory: String) -> String? {
        var end = directory.startIndex
        while end != directory.endIndex {
            end = directory[directory.index(after: end)...].firstIndex(of: "/") ?? directory.endIndex
            let path = String(directory[..<end])
            if mkdir(path, 0o700) == 0 || isDirectory(path) { continue }
            return "cannot create the directory \(path): \(reason(errno))"
        }
        return nil
    }

    private static func reason(_ number: Int32) -> String {
        switch number {
        case EEXIST: "a file with this name exists"
        case EROFS: "read-only file system, perhaps because of the service's sandbox (see StateDirectory=)"
        default: String(cString: strerror(number)).asPhrase
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        let number = errno
        defer { errno = number }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Identifies this boot of the machine.
    ///
    /// The unit sets the variable (`%b`), because its sandbox hides the kernel's file.
    private static func bootID(_ environment: [String: String]) -> String {
        if let boot = environment["STATUSD_BOOT_ID"], !boot.isEmpty { return boot }
        let boot = SystemFile.text(at: "/proc/sys/kernel/random/boot_id")
        return boot?.filter { $0 != "-" && $0 != "\n" } ?? Epoch.random().description
    }
}
