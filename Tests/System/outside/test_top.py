# SPDX-License-Identifier: Apache-2.0
"""statusctl top on a real terminal (tmux)."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

from harness.daemon import STATUSCTL, Daemon, environment, run
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test
from harness.tmux import Screen

from .test_followed import CONFIGURATION as FOLLOWING
from .test_web_hub import fill, report


def servers(count=12):
    """A configuration with a slow check, and this number of servers that programs post to."""
    slow = "  disk: { exec: [/bin/sh, -c, 'sleep 1; echo DISK OK'], interval: 1h, description: Root file system }\n"
    return "servers:\n" + slow + "".join(f"  srv{number:02}: {{ push: true }}\n" for number in range(count))


def top(daemon, width=80, height=24, prefix="", **variables):
    """A terminal with a shell that runs `statusctl top`, and shows how it ended and whether the terminal is as before. The shell stays, because
    its stopped jobs would not."""
    script = f'stty -a >{daemon.folder}/before; echo "before top"; {prefix} "{STATUSCTL}" top; echo "ended with $?"; stty -a >{daemon.folder}/after; sleep 60; true'
    return Screen("bash", "--norc", "-c", script, width=width, height=height, STATUSD_ADDRESS=f"unix:{daemon.socket}", **variables)


def process(daemon):
    """The number of the process that shows `top` for this daemon."""
    def find():
        for number in run("pgrep", "-x", "statusctl").out.split():
            try:
                with open(f"/proc/{number}/environ", "rb") as file:
                    if daemon.socket.encode() in file.read():
                        return int(number)
            except OSError:
                pass
        return None
    return eventually(find, "statusctl top")


def is_restored(daemon, shown):
    """Checks that the former screen, the cursor and the terminal's former settings are back."""
    lines = shown.shows("before top", "ended with")
    equal(lines[0], "before top")
    contents = [(daemon.folder / name) for name in ("before", "after")]
    eventually(contents[1].exists)
    eventually(lambda: contents[1].read_text() == contents[0].read_text(), "the terminal's settings")
    equal(shown.format("#{cursor_flag} #{mouse_standard_flag} #{alternate_on}"), "1 0 0")


@test("top shows all servers, marks the selected one, and shows its last changes below")
def overview():
    with Daemon(servers()) as daemon:
        for number in range(12):
            daemon.done("post", f"srv{number:02}", f"Signed In {number}")
        daemon.done("post", "srv03", "Signed Out", "--level", "critical")
        daemon.done("select", "srv03")
        with top(daemon) as shown:
            # The worst server is the first one, with the bar.
            lines = shown.shows("13 servers", "1 critical", "srv03: last changes", "added srv03", "Signed In 3", "q quit")
            contains(lines[2], "* srv03")
            equal(len([line for line in lines if line.startswith("* srv03")]), 1)
            contains(lines[1], "SERVER", "STATUS", "LEVEL", "AGE", "SOURCE")
            daemon.done("post", "srv03", "Signed In again")
            shown.shows("* srv03   Signed In again ")
            # Now disk is the first one.
            shown.shows("disk: last changes")
            daemon.done("post", "srv05", "Signed Out", "--level", "warning")
            shown.shows("srv05: last changes")
            daemon.done("post", "srv05", "Signed In again")
            shown.shows("disk: last changes")
            shown.type("/", "s", "r", "v", "0", "3", "Enter")
            eventually(lambda: any(line.endswith('ok        "Signed In again"  by root') for line in shown.lines()), "the change beneath")
            shown.type("q")
            is_restored(daemon, shown)
            contains(shown.text(), "ended with 0")


@test("top fits terminals of 80x24 and 200x50, and follows a change of the size")
def sizes():
    with Daemon(servers(60)) as daemon:
        for number in range(60):
            daemon.done("post", f"srv{number:02}", "日本語 🚀 " * 20)
        daemon.done("select", "srv00")
        with top(daemon) as shown:
            lines = shown.shows("disk: last changes", "q quit")
            equal((len(lines), lines[-1].startswith("? help")), (24, True))
            shown.resize(200, 50)
            lines = shown.shows("SINCE", "srv30", "│ disk: DISK OK", "history, the newest first")
            assert "last changes" not in shown.text()
            equal((len(lines), lines[-1].startswith("? help")), (50, True))
            shown.resize(40, 8)
            eventually(lambda: len(shown.lines()) == 8 and "SOURCE" not in shown.text() and shown.lines()[-1].startswith("? help"))
            shown.resize(80, 24)
            shown.shows("disk: last changes")


@test("the keys and the mouse of top move, filter, show details and help, select and refresh")
def keys():
    with Daemon(servers()) as daemon:
        for number in range(12):
            daemon.done("post", f"srv{number:02}", f"Signed In {number}")
        daemon.done("select", "srv00")
        daemon.done("wait", "disk")
        with top(daemon) as shown:
            shown.shows("disk: last changes")
            shown.type("Down", "Down", "Down", "Down")
            shown.shows("srv03: last changes")
            shown.type("Up", "Up", "!", "*")
            eventually(lambda: shown.lines()[-1] == "statusctl select srv01", "the command in the last line")
            equal(daemon.ctl("status", "--format", "{name}").out, "srv00\n")
            shown.type("*")
            shown.shows("* srv01")
            equal(daemon.ctl("status", "--format", "{name}").out, "srv01\n")
            shown.type("G")
            shown.shows("srv11: last changes")
            # The row of srv02, which is the fifth: title, legend, disk, srv00 and srv01 are above it.
            row = next(number for number, line in enumerate(shown.lines()) if line.startswith("  srv02"))
            shown.type("g")
            shown.shows("disk: last changes")
            row = next(number for number, line in enumerate(shown.lines()) if line.startswith("  srv02"))
            shown.send(f"\x1b[<0;5;{row + 1}M\x1b[<0;5;{row + 1}m")
            shown.shows("srv02: last changes")
            shown.type("Enter")
            shown.shows("srv02: Signed In 2", "  Source:       push", "history, the newest first", "added srv02")
            shown.type("Escape", "g", "Enter")
            shown.shows("Command:      /bin/sh -c sleep 1; echo DISK OK", "; took ", "Next check:   20")
            shown.type("Escape")
            shown.shows("disk: last changes")
            shown.type("?")
            shown.shows("only servers that contain a text")
            daemon.done("post", "srv10", "Signed Out", "--level", "warning")
            daemon.done("post", "srv11", "Signed Out", "--level", "critical")
            shown.shows("1 critical  1 warning")
            shown.type("x", "n")
            shown.shows("srv11: last changes")
            shown.type("n")
            shown.shows("srv10: last changes")
            shown.type("N")
            shown.shows("srv11: last changes")
            shown.type("o")
            shown.shows("by name", "disk: last changes")
            shown.type("/", "r", "o", "o", "t")
            shown.shows("/root", "disk: last changes")
            assert "srv02" not in shown.text()
            shown.type("Enter", "r")
            eventually(lambda: re.search("^ [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]disk", shown.text(), re.MULTILINE), "the indicator")
            eventually(lambda: re.search("^  disk", shown.text(), re.MULTILINE), "the end of the indicator")
            shown.type("Escape", "G", "r")
            shown.shows("cannot refresh srv11: nothing loads its status")
            shown.type("C-c")
            is_restored(daemon, shown)


@test("top shows the levels of the last hours of each server, if there are room and a history")
def strips():
    def strip(name, cell):
        return eventually(lambda: re.search(f"^[ *] {name} .* push +{cell}( +│.*)?$", shown.text(), re.MULTILINE), f"a strip of {name} with {cell}")

    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("post", "web", "Signed Out", "--level", "critical")
        daemon.done("post", "web", "Signed In again")
        with top(daemon, width=100) as shown:
            shown.shows("LAST 12 H")
            strip("db", "▁")
            strip("web", "█")
            daemon.done("post", "db", "Signed Out", "--level", "warning")
            strip("db", "▄")
            shown.resize(99, 24)
            eventually(lambda: "LAST" not in shown.text() and "█" not in shown.text())
            shown.resize(160, 24)
            strip("web", "█")
            daemon.stop()
            shown.shows("the daemon disconnected")
            strip("web", "█")
            daemon.start()
            shown.shows("2 servers")
            strip("web", "█")
    with Daemon("history: { changes: 0 }\nservers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        with top(daemon, width=120) as shown:
            shown.shows("SOURCE", "Signed In")
            eventually(lambda: "LAST" not in shown.text())


@test("top says that the daemon is away, and continues when it is back")
def away():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        with top(daemon) as shown:
            shown.shows("db: last changes", "1 server")
            daemon.stop()
            contains(shown.shows("waiting for it to return")[0], "the daemon disconnected")
            daemon.start()
            daemon.done("post", "db", "Signed Out")
            shown.shows("1 server ", "Signed Out")
            assert "disconnected" not in shown.text()


@test("top says that the daemon does not answer while it hangs, without a change of ages")
def hanging():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        with top(daemon) as shown:
            shown.shows("db: last changes", "1 server")
            daemon.process.send_signal(signal.SIGSTOP)
            try:
                shown.shows("the daemon does not answer")
            finally:
                daemon.process.send_signal(signal.SIGCONT)
            daemon.done("post", "db", "Signed Out")
            shown.shows("1 server ", "Signed Out")
            assert "does not answer" not in shown.text()


@test("top restores the terminal after signals, a crash, and while it is suspended")
def restored():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGQUIT, signal.SIGUSR1,
                       signal.SIGALRM, signal.SIGXCPU, signal.SIGSYS):
            with top(daemon, prefix="ulimit -c 0;") as shown:
                shown.shows("db: last changes")
                os.kill(process(daemon), number)
                is_restored(daemon, shown)
        with top(daemon, prefix="set -m;") as shown:
            shown.shows("db: last changes")
            shown.type("C-z")
            shown.shows("before top")
            equal(shown.format("#{cursor_flag} #{alternate_on}"), "1 0")
            os.kill(process(daemon), signal.SIGCONT)
            shown.shows("db: last changes")


@test("a frame of top is one write of the changed lines")
def frames():
    with Daemon(servers(60)) as daemon:
        daemon.done("post", "srv01", "Signed In")
        trace = daemon.folder / "trace"
        if run("sh", "-c", "command -v strace").status:
            raise Skip("there is no strace; packaging/setup --test installs it")
        with top(daemon, prefix=f"strace -f -o {trace} -e trace=write -e write=1 -s 100000") as shown:
            shown.shows("Signed In")

            def frames_with(text):
                lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
                return [line for line in lines if "write(1, " in line and text in line]

            daemon.done("post", "srv01", "Signed Out")
            shown.shows("Signed Out")
            frame = eventually(lambda: frames_with("Out"))[0]
            # The row, and if they come with it, the last changes; a screen has 24 lines.
            changed = re.findall(r"\\33\[\d+;1H", frame)
            assert 1 <= len(changed) <= 8, f"{len(changed)} lines: {frame}"
            assert "[2J" not in frame, frame
            shown.type("q")
            shown.shows("ended with")


@test("top has colours, or none, and needs a terminal")
def surroundings():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed Out", "--level", "critical")
        with top(daemon) as shown:
            shown.shows("db: last changes")
            text = "\n".join(shown.lines(colours=True))
            assert "\x1b[31m" in text and re.search(r"\x1b\[[0-9;]*7m", text), text
        with top(daemon, NO_COLOR="1") as shown:
            shown.shows("db: last changes")
            text = "\n".join(shown.lines(colours=True))
            assert "\x1b[31m" not in text and re.search(r"\x1b\[[0-9;]*7m", text), text
        # The fonts of the kernel's console have no lines and few blocks.
        for name, start in (("vt100", "── db: last"), ("linux", "-- db: last")):
            with top(daemon, prefix=f"TERM={name}") as shown:
                shown.shows(start)
                shown.type("q")
                is_restored(daemon, shown)
        told = daemon.ctl("top")
        equal(told.status, 64)
        contains(told.err, "top needs a terminal that can move the cursor", "run “statusctl list --watch”")
        with Screen("sh", "-c", f"TERM=dumb '{STATUSCTL}' top; echo ended with $?; exec sleep 60") as shown:
            shown.shows("top needs a terminal", "ended with 64")


@test("top ends by a signal while its terminal accepts no output, and leaves the terminal's settings as they were")
def stalled():
    with Daemon(servers(60)) as daemon:
        leader, follower = pty.openpty()
        before = termios.tcgetattr(follower)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 300, 0, 0))
        command = subprocess.Popen([STATUSCTL, "top"], stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
                                   env=environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", TERM="xterm", LC_ALL="C.UTF-8"))
        try:
            def is_stalled():
                for number in range(60):
                    daemon.done("post", f"srv{number:02}", str(time.monotonic()) * 10)
                with open(f"/proc/{command.pid}/wchan", encoding="ascii") as waits:
                    return "wait_woken" in waits.read() or "tty" in waits.read()
            eventually(is_stalled, "a write that waits for the terminal")
            command.send_signal(signal.SIGTERM)
            equal(command.wait(10), -signal.SIGTERM)
            equal(termios.tcgetattr(follower), before)
        finally:
            command.kill()
            command.wait()
            os.close(leader)
            os.close(follower)


@test("top shows the journal of a unit, or the entries about a server, in another program, which Ctrl-C does not end; and comes back")
def journal():
    with Daemon("servers: { cron: { unit: cron }, db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        fake = daemon.folder / "bin" / "journalctl"
        fake.parent.mkdir()
        # It tells what it gets; a Ctrl-C is for it, not for top.
        fake.write_text("#!/bin/bash\ntrap 'echo interrupted' INT\necho \"journal: $* $SYSTEMD_LESS\"\nwhile read -r line; do [ \"$line\" = q ] && exit 0; done\n"
                        "exit 3\n", encoding="utf-8")
        fake.chmod(0o755)
        with top(daemon, prefix=f"PATH={fake.parent}:$PATH") as shown:
            shown.shows("cron: last changes")
            shown.type("j")
            shown.shows("journal: -e --unit=cron.service RSMK")
            equal(shown.format("#{cursor_flag} #{mouse_standard_flag} #{alternate_on}"), "1 0 0")
            shown.type("C-c")
            shown.shows("interrupted")
            daemon.done("post", "db", "Signed Out")
            shown.type("q", "Enter")
            shown.shows("Signed Out", "cron: last changes")
            equal(shown.format("#{cursor_flag} #{mouse_standard_flag} #{alternate_on}"), "0 1 1")
            shown.type("Down", "j")
            shown.shows("journal: -e SERVER=db")
            shown.type("C-d")
            shown.shows("cannot show the journal: “journalctl -e SERVER=db” ended with status 3; run it", "db: last changes")
            shown.type("q")
            is_restored(daemon, shown)


@test("top shows members below their group, hides them, and on a wide terminal the details and values of the server under the bar")
def groups():
    check = "exec: [/bin/echo, 'OK | used=50%;80;90 jobs=7']"
    with Daemon(f"servers: {{ site: {{ group: [web, db] }}, db: {{ push: true }}, web: {{ {check} }} }}\n") as daemon:
        daemon.done("post", "db", "Signed Out", "--level", "critical")
        daemon.done("wait", "web")
        with top(daemon, width=160) as shown:
            shown.shows("  site    1 of 2 critical: db", "    db    Signed Out", "    web   OK", "│ site: 1 of 2 critical: db")
            shown.type("End")
            shown.shows("│ web: OK", "Group:        site", "Values:       used [████████        ] 50%", "jobs                      7")
            shown.type("Enter")
            shown.shows("used [████████        ] 50% (warning 80%, critical 90%)")
            shown.type("Escape")
            shown.type("Space")
            shown.shows("  site (+2)", "│ site: 1 of 2 critical: db")
            assert "    web " not in shown.text()
            shown.type("Space")
            shown.shows("    web   OK")


@test("top shows the servers of other hosts below them; of many, only those of a host in which something is worse")
def many_hosts():
    with Daemon(FOLLOWING) as daemon:
        fill(daemon)
        with top(daemon, width=100) as shown:
            shown.shows("2251 servers  1 critical", "  web7 ", "    s3@web7", "    s0@web7", "  web0 (+8)")
            with daemon.connect() as connection:
                report(connection, "web7", "s3", "ok", 2)
            eventually(lambda: "critical" not in shown.text(), "all are well")
            assert "@web7" not in shown.text()
            shown.type("End", "Up", "Space")
            shown.shows("  web99 ", "    s0@web99")
