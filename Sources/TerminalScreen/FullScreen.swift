// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The terminal of this process as a full-screen program needs it, and as it was before.
///
/// The other screen (“alternate screen”) is shown, so that what was there before comes back. Keys arrive one by one,
/// without being shown, and the mouse reports clicks. When the process exits, or a signal other than SIGKILL ends it,
/// the terminal is as before. If it takes nothing then, only its settings are.
public enum FullScreen {
    private static let begin: StaticString = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?1000h\u{1b}[?1006h"
    private static let end: StaticString = "\u{1b}[0m\u{1b}[?1006l\u{1b}[?1000l\u{1b}[?25h\u{1b}[?1049l"

    /// The signals whose default is to end a process (signal(7)), without those that a program handles in another way.
    ///
    /// Handlers, unlike sources of the event loop, also run while a write waits for the terminal.
    private static let ending = [
        SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV, SIGUSR2, SIGALRM, SIGTERM,
        SIGXCPU,
        SIGXFSZ, SIGVTALRM, SIGPROF, SIGPOLL, SIGSYS,
    ]

    /// The mode to restore, and whether it must be.
    ///
    /// Unsafe, because a signal handler reads them, which may not take a lock. They are written only by the thread that
    /// owns the terminal.
    private nonisolated(unsafe) static var former = termios()
    private nonisolated(unsafe) static var isActive = false

    /// Has the terminal given back when the process ends; once.
    private static let preparation: Void = prepare()

    /// Whether standard input and output are a terminal that can do it.
    public static func isPossible(environment: [String: String]) -> Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !["dumb", ""].contains(environment["TERM"] ?? "")
    }

    /// Takes over the terminal.
    ///
    /// Call it on the thread that runs `main`. It returns without effect if the terminal is taken over already.
    public static func enter() {
        guard !isActive, tcgetattr(STDIN_FILENO, &former) == 0 else { return }
        _ = preparation
        isActive = true
        var raw = former
        cfmakeraw(&raw)
        // Output is still translated, for messages that are written after all.
        raw.c_oflag = former.c_oflag
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        put(begin)
    }

    /// Gives the terminal back.
    ///
    /// - Parameter waits: whether to wait until the terminal takes the output; a signal handler does not.
    public static func leave(waits: Bool = true) {
        guard isActive else { return }
        isActive = false
        let flags = fcntl(STDOUT_FILENO, F_GETFL)
        if !waits { _ = fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) }
        put(end)
        if !waits { _ = fcntl(STDOUT_FILENO, F_SETFL, flags) }
        tcsetattr(STDIN_FILENO, TCSANOW, &former)
    }

    /// The terminal's size; 80 columns and 24 rows if it does not say.
    public static var size: Screen.Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Screen.Size(width: 80, height: 24)
        }
        return Screen.Size(width: Int(size.ws_col), height: Int(size.ws_row))
    }

    private static func prepare() {
        // A constant that is made at its first use must not be made in a signal handler.
        _ = end
        atexit { FullScreen.leave() }
        for number in ending {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                FullScreen.leave(waits: false)
                // It comes again, with the default action.
                signal(number, SIG_DFL)
                raise(number)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | Int32(SA_NODEFER)
            sigaction(number, &action, nil)
        }
    }

    private static func put(_ text: StaticString) {
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }
}
