// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import StatusModel
import StatusSupport
import Varlink

/// Writes all output of statusctl.
struct Terminal: Sendable {
    /// Whether the output is JSON, which is always UTF-8.
    let isJSON: Bool
    /// How levels are coloured.
    let style: Style
    /// The charset of all other lines.
    let charset: Charset
    /// Whether the process ends with status 0 when the reader of its output disconnects.
    var endsWithReader = false
    /// The width of the terminal; nil if standard output is not a terminal.
    let width: Int?
    /// Whether standard output is a terminal whose cursor can be moved.
    let canMoveCursor: Bool
    /// Whether lines and blocks are in the charset, and in the font: those of the kernel's console have few of them.
    let drawsBlocks: Bool

    init(isJSON: Bool, environment: [String: String]) {
        self.isJSON = isJSON
        let isTerminal = isatty(STDOUT_FILENO) == 1
        style = Style(isTerminal: isTerminal, environment: environment)
        charset = Charset(environment: environment)
        width = isTerminal ? Self.width(of: STDOUT_FILENO, environment) : nil
        drawsBlocks = charset.isUTF8 && environment["TERM"] != "linux"
        canMoveCursor = isTerminal && environment["TERM"] != "dumb"
    }

    /// The current width of a terminal, which `COLUMNS` overrides; nil if the descriptor is not a terminal.
    static func width(of descriptor: Int32, _ environment: [String: String]) -> Int? {
        if let columns = environment["COLUMNS"].flatMap(Int.init), columns > 0 { return columns }
        var size = winsize()
        return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    }

    /// The current height of the terminal of standard output; nil if it is not a terminal.
    var height: Int? {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 ? Int(size.ws_row) : nil
    }

    /// Writes one line to standard output, without a buffer.
    ///
    /// If the reader has disconnected, the command continues, because its exit status is an answer, too.
    /// Any other failure is written to standard error and ends the process.
    func line(_ text: String) { raw(text + "\n") }

    /// Writes text and control sequences to standard output, with one write; fails as ``line(_:)`` does.
    func raw(_ text: String) { put(charset.text(text)) }

    /// Writes text for a program as it is, with one write; fails as ``line(_:)`` does.
    func data(_ text: String) { put(text) }

    private func put(_ text: String) {
        let failure = StandardOutput.write(text, to: STDOUT_FILENO)
        if failure == 0 { return }
        if failure == EPIPE, endsWithReader { exit(ExitStatus.done.rawValue) }
        if failure == EPIPE { return }
        StandardOutput.write(
            "statusctl: cannot write the output: \(String(cString: strerror(failure)))\n", to: STDERR_FILENO)
        exit(ExitStatus.failed.rawValue)
    }

    func json(_ value: some JSONWritable) { put(Self.json { $0.value(value) } + "\n") }

    func json(_ members: (inout JSONWriter) -> Void) { put(Self.json { $0.object(members) } + "\n") }

    /// Writes a message to standard error, unless the output is JSON.
    func note(_ text: String) {
        if !isJSON { writeError(text) }
    }

    private func writeError(_ text: String) {
        StandardOutput.write(charset.text("statusctl: \(text)\n"), to: STDERR_FILENO)
    }

    /// Writes the daemon's warnings about itself to standard error.
    ///
    /// It does so with JSON, too, because a script would rely on a state that is not saved.
    func warn(_ notices: [String]?) {
        // statusd has one for each kind of trouble, but another peer may send any number.
        for notice in (notices ?? []).prefix(20) { writeError("warning: \(VisibleText.excerpt(notice, bytes: 4096))") }
    }

    /// Writes a faint message to standard error if it and standard output are terminals.
    func hint(_ text: String) {
        guard !isJSON, width != nil, isatty(STDERR_FILENO) == 1 else { return }
        StandardOutput.write(charset.text(style.faint("statusctl: \(text)") + "\n"), to: STDERR_FILENO)
    }

    func failure(_ failure: CommandFailure) {
        if isJSON { json(failure) } else { note((failure.host.map { "\($0): " } ?? "") + failure.sentence) }
    }

    /// JSON as one line; characters that could end the line or control a terminal are escaped or left out.
    static func json(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            switch scalar.value {
            // White space between values; in a string, it is escaped.
            case 0x09, 0x0A, 0x0D: break
            case _ where VisibleText.isControl(scalar): line += escape(scalar)
            default: line.unicodeScalars.append(scalar)
            }
        }
    }

    /// The scalar as JSON escapes it.
    private static func escape(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar)?.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined() ?? ""
    }
}

/// Ends the process when the reader of its output disconnects.
///
/// The exit status is 0. A stream without events would otherwise notice this only with the next line.
@EventLoop
final class PipeReader {
    private var source: IOSource?

    /// From now on, an interrupt and the end of the reader end the process with status 0.
    static func withInterrupt() -> PipeReader {
        for interruption in [SIGINT, SIGTERM] where !SignalSource.isIgnored(interruption) {
            signal(interruption) { _ in _exit(0) }
        }
        return PipeReader()
    }

    private init() {
        // A file, for example, cannot be polled, and has no reader.
        let copy = dup(STDOUT_FILENO)
        guard copy >= 0 else { return }
        source = try? IOSource(OwnedDescriptor(adopting: copy), events: .hangUp) { events in
            if !events.isDisjoint(with: [.hangUp, .error]) { exit(ExitStatus.done.rawValue) }
        }
    }
}
