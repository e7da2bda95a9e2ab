// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusSupport
import Varlink

/// Another host, reached with ssh(1), as by systemctl(1).
struct RemoteHost: Sendable, Hashable {
    /// `HOST` or `USER@HOST`, or another name from the user's ssh_config(5).
    let name: String
    /// The daemon's address on that host; nil for the one that `statusctl` finds there.
    var address: UnixAddress?

    /// A host; nil if ssh(1) would take the name for an option, or a shell for several words.
    init?(_ name: String) {
        guard !name.isEmpty, name.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }), !name.hasPrefix("-"),
            !zip(name, name.dropFirst()).contains(where: { "@/".contains($0) && $1 == "-" }),
            name.utf8.allSatisfy({ !"'\"`$;&|<>(){}*?\\!,".utf8.contains($0) })
        else { return nil }
        self.name = name
    }

    /// Hosts separated by commas, each once.
    static func list(_ text: String) throws(InvalidValue) -> [RemoteHost] {
        var hosts: [RemoteHost] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let host = RemoteHost(String(name)) else { throw InvalidValue("must be HOST or USER@HOST") }
            if !hosts.contains(host) { hosts.append(host) }
        }
        return hosts
    }

    /// The program that connects to `statusctl bridge` on the host.
    ///
    /// - Parameters:
    ///   - mayStart: whether connecting may start the daemon.
    ///   - isRetry: whether ssh(1) must not ask the user or write messages.
    func address(mayStart: Bool, isRetry: Bool) throws(IOError) -> VarlinkAddress {
        .bridge(path: try Self.program(), arguments: bridgeArguments(mayStart: mayStart, isRetry: isRetry))
    }

    func bridgeArguments(mayStart: Bool = true, isRetry: Bool) -> [String] {
        let quiet = isRetry ? ["-q", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"] : []
        return quiet
            + arguments(
                ["statusctl", "bridge", "--end-with-input"] + (mayStart ? [] : ["--no-start"])
                    + (address.map { ["--address", "\($0)"] } ?? []))
    }

    /// The words of a command of this host that runs another one there, with a terminal.
    func interactively(_ words: [String]) throws(IOError) -> [String] {
        // Without “Connection closed” at the end.
        [try Self.program(), "-o", "LogLevel=ERROR", "-xt", "--", name, Self.line(words)]
    }

    /// Becomes ssh(1), which runs a command on the host; returns only if there is no ssh.
    func run(_ words: [String]) throws(IOError) -> Never {
        let path = try Self.program()
        let pointers = (["ssh"] + arguments(words)).map { strdup($0) }
        execv(path, pointers + [nil])
        throw IOError(errno: errno, "cannot start \(path)")
    }

    /// No terminal and no X11 on the other host; its shell gets each word quoted.
    private func arguments(_ words: [String]) -> [String] {
        ["-xT", "--", name, Self.line(words)]
    }

    /// The words as a shell reads them.
    static func line(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    private static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || "-_./:@=".utf8.contains($0)
            }
        return isPlain ? word : "'" + word.replacingScalar("'", with: #"'\''"#) + "'"
    }

    /// `$SYSTEMD_SSH`, as for systemd's tools, or `ssh` in `$PATH`.
    private static func program() throws(IOError) -> String {
        let environment = ProcessEnvironment.current
        let name = environment["SYSTEMD_SSH"].flatMap { $0.isEmpty ? nil : $0 } ?? "ssh"
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        let places = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        guard let place = places.first(where: { access($0, X_OK) == 0 }) else {
            throw IOError(.notFound, "cannot start \(name): there is no such program; install openssh-client")
        }
        return place
    }
}
