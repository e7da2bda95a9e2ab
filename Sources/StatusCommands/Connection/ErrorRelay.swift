// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusModel

/// Forwards the messages that ssh(1) writes to standard error, line by line.
///
/// The other host can write there, too. So each line begins with its name, and has no control characters. ssh asks for
/// passwords on the terminal itself. It says that a security key must be touched only if standard error is a terminal,
/// so statusctl(1) says it.
@EventLoop
final class ErrorRelay {
    /// A longer line is forwarded in parts.
    private static let longestLine = 4096
    private static var isMuted = false

    private let host: String
    private let input: OwnedDescriptor
    /// Keeps this object until ssh has ended.
    private var source: IOSource?
    private var line: [UInt8] = []

    /// Stops forwarding.
    ///
    /// A command that draws on the terminal calls this, because ssh may write over its screen even seconds after a
    /// connection broke.
    static func mute() { isMuted = true }

    /// Makes a relay, and the descriptor for standard error of ssh.
    static func start(of host: String) throws(IOError) -> (relay: ErrorRelay, output: OwnedDescriptor) {
        let (ours, theirs) = try UnixSocket.makePair()
        // ssh does not expect a non-blocking socket.
        _ = fcntl(theirs.rawValue, F_SETFL, 0)
        let relay = ErrorRelay(host, ours)
        relay.source = try IOSource(ours, events: .readable) { _ in relay.pass() }
        return (relay, theirs)
    }

    private init(_ host: String, _ input: OwnedDescriptor) { (self.host, self.input) = (host, input) }

    /// Forwards everything that ssh has written so far, before a message about its end.
    func passRest() {
        var rounds = 0
        while rounds < 64, pass() { rounds += 1 }
        writeLine()
    }

    /// Forwards the next bytes; returns whether there may be more.
    @discardableResult
    private func pass() -> Bool {
        var bytes = [UInt8](repeating: 0, count: Self.longestLine)
        let count = read(input.rawValue, &bytes, bytes.count)
        guard count > 0 else {
            if count == 0 { end() }
            return false
        }
        for byte in bytes[..<count] {
            // A line is not split within a character, which has at most three such bytes.
            let isInside = byte & 0xC0 == 0x80 && line.count < Self.longestLine + 3
            if byte == UInt8(ascii: "\n") || line.count >= Self.longestLine && !isInside { writeLine() }
            if byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { line.append(byte) }
        }
        return true
    }

    private func end() {
        writeLine()
        source?.cancel()
        source = nil
    }

    private func writeLine() {
        defer { line = [] }
        guard !Self.isMuted, !line.isEmpty else { return }
        let text = VisibleText.escape(String(decoding: line, as: UTF8.self))
        StandardOutput.write("\(host): \(text)\n", to: STDERR_FILENO)
    }
}
