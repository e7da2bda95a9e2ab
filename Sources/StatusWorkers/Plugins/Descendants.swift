// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

/// The descendants of this process, which must be single-threaded and a subreaper (prctl(2)).
///
/// A descendant that loses its parent becomes a child of this process, so none can escape by becoming a daemon.
enum Descendants {
    private static let pause = Duration.milliseconds(50)
    private static let maximumRounds = 100

    static func adoptOrphans() { _ = linux_adopt_orphans() }

    /// Returns the process IDs of the children, including dead ones.
    static func children() -> [pid_t] { numbers(in: "/proc/thread-self/children") }

    /// Returns the process IDs of all descendants, except these children and their descendants.
    private static func all(except kept: Set<pid_t>) -> [pid_t] {
        var found = children().filter { !kept.contains($0) }
        var index = 0
        while index < found.count {
            found += children(of: found[index])
            index += 1
        }
        return found
    }

    private static func children(of process: pid_t) -> [pid_t] {
        guard let directory = opendir("/proc/\(process)/task") else { return [] }
        defer { closedir(directory) }
        var children: [pid_t] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { children += numbers(in: "/proc/\(process)/task/\(name)/children") }
        }
        return children
    }

    private static func numbers(in path: String) -> [pid_t] {
        (SystemFile.text(at: path) ?? "").split(separator: " ").compactMap { pid_t($0) }
    }

    /// Kills all descendants; returns whether all have ended within `limit`.
    ///
    /// A process in uninterruptible sleep, or of another user, may not end.
    ///
    /// - Parameter sparesOthers: whether processes that this process may not kill count as ended.
    static func end(within limit: Duration, sparesOthers: Bool = false) -> Bool {
        if reap() { return true }
        let deadline = ContinuousClock.now + limit
        freeze(except: [])
        while !reap() {
            let isLeft = children().reduce(false) { isLeft, child in
                Glibc.kill(child, SIGKILL) == 0 || errno != EPERM || !sparesOthers || isLeft
            }
            if !isLeft { return true }
            let rest = deadline - ContinuousClock.now
            guard rest > .zero else { return false }
            Signals.wait(within: min(rest, pause))
        }
        return true
    }

    /// Kills all descendants except these children and their descendants, without waiting.
    static func kill(except kept: Set<pid_t>) {
        freeze(except: kept)
        for process in all(except: kept) { Glibc.kill(process, SIGKILL) }
    }

    /// Stops all descendants except these and their descendants, so that none starts others while they are killed.
    private static func freeze(except kept: Set<pid_t>) {
        var stopped: Set<pid_t> = []
        for _ in 0..<maximumRounds {
            let running = all(except: kept).filter { stopped.insert($0).inserted }
            if running.isEmpty { return }
            for process in running { Glibc.kill(process, SIGSTOP) }
        }
    }

    /// Reaps all dead children except this one.
    static func reapOrphans(except process: pid_t) {
        for child in children() where child != process { waitpid(child, nil, WNOHANG) }
    }

    /// Reaps dead children; returns whether no child is left.
    private static func reap() -> Bool {
        while true {
            let child = waitpid(-1, nil, WNOHANG)
            if child < 0, errno != EINTR { return true }
            if child == 0 { return false }
        }
    }
}
