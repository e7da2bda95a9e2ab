// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Switches the terminal of this process to full-screen mode and back.
///
/// The alternate screen is used, so that the previous contents come back. Keys arrive one by one and are not echoed,
/// long lines are not wrapped, and the mouse reports clicks. The terminal is restored when the process exits, or when a
/// signal other than SIGKILL ends it. If a terminal does not accept output at that time, only its settings are
/// restored.
public enum FullScreen {
    private static let begin: StaticString = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[?1000h\u{1b}[?1006h"
    private static let end: StaticString = "\u{1b}[0m\u{1b}[?1006l\u{1b}[?1000l\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"

    /// The signals that end a process by default (signal(7)), except those that the program handles otherwise.
    ///
    /// Unlike the event loop's sources, signal handlers also run while a write waits for the terminal.
    private static let ending = [
        SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV, SIGUSR2, SIGALRM, SIGTERM,
        SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGPOLL, SIGSYS,
    ]

    /// The mode to restore, and whether it must be.
    ///
    /// Unsafe, because a signal handler reads them and must not take a lock. Only the thread that owns the terminal
    /// writes them.
    private nonisolated(unsafe) static var former = termios()
    private nonisolated(unsafe) static var isActive = false

    /// Registers the handlers that restore the terminal when the process ends; evaluated once.
    private static let preparation: Void = prepare()

    /// Whether standard input and output are a terminal that supports full-screen mode.
    public static func isPossible(environment: [String: String]) -> Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !["dumb", ""].contains(environment["TERM"] ?? "")
    }

    /// Takes over the terminal.
    ///
    /// Call it on the thread that runs `main`. It has no effect if the terminal is already taken over.
    public static func enter() {
        guard !isActive, tcgetattr(STDIN_FILENO, &former) == 0 else { return }
        _ = preparation
        isActive = true
        var raw = former
        cfmakeraw(&raw)
        // Output is still translated, so that messages look right.
        raw.c_oflag = former.c_oflag
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        put(begin)
    }

    /// Restores the terminal.
    ///
    /// - Parameter waits: whether to wait until the terminal accepts the output; a signal handler must not.
    public static func leave(waits: Bool = true) {
        guard isActive else { return }
        isActive = false
        let flags = fcntl(STDOUT_FILENO, F_GETFL)
        if !waits { _ = fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) }
        put(end)
        if !waits { _ = fcntl(STDOUT_FILENO, F_SETFL, flags) }
        tcsetattr(STDIN_FILENO, TCSANOW, &former)
    }

    /// The size of the terminal; 80 columns and 24 rows if unknown.
    public static var size: Screen.Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Screen.Size(width: 80, height: 24)
        }
        return Screen.Size(width: Int(size.ws_col), height: Int(size.ws_row))
    }

    private static func prepare() {
        // A lazily created constant must not be created in a signal handler.
        _ = end
        atexit { FullScreen.leave() }
        for number in ending {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                FullScreen.leave(waits: false)
                // The signal is raised again with its default action.
                signal(number, SIG_DFL)
                raise(number)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | Int32(SA_NODEFER)
            sigaction(number, &action, nil)
        }
    }

    private static func put(_ text: StaticString) { _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount) }
}
