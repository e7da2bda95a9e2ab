# SPDX-License-Identifier: Apache-2.0
"""statusctl watch --output, and the examples for status bars, each run by its real program."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness.attacker import need_root
from harness.daemon import BINARIES, NOBODY, STATUSCTL, Daemon, Follower, environment, readable_binaries, run
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test
from harness.tmux import Screen

from .test_weight import status as status_of

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "packaging" / "examples"
FORMATS = ("waybar", "i3blocks", "polybar", "tmux", "plain")


def plain_text(form, line):
    """The text that a bar shows for a line of statusctl."""
    if form == "waybar":
        found = json.loads(line)
        equal(sorted(found), ["alt", "class", "percentage", "text", "tooltip"])
        return found["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    if form == "i3blocks":
        return json.loads(line)["full_text"]
    if form == "polybar":
        return re.sub(r"%\{F[^}]*\}", "", line)
    return re.sub(r"(?<!#)#\[[^]]*\]", "", line).replace("####", "#") if form == "tmux" else line


def need(*programs):
    """Skips a test whose programs are missing."""
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"there is no {program}; packaging/setup --test installs it")


def surroundings(daemon, **variables):
    """The environment of a program that runs the examples."""
    return environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", PATH=f"{BINARIES}:{os.environ['PATH']}", LC_ALL="C.UTF-8", **variables)


@test("after ten restarts of the daemon, the last line of each bar is the same as status, and each exit status is 0")
def restarts():
    with Daemon() as daemon, contextlib.ExitStack() as stack:
        bars = {form: stack.enter_context(daemon.follow("watch", "--output", form)) for form in FORMATS}
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        for form, bar in bars.items():
            bar.until("db: Signed In")
        for number in range(10):
            daemon.stop()
            daemon.start()
            daemon.done("post", "db", f"a<b & c #[x] %{{F}} {number}", "--level", "warning")
        wanted = daemon.ctl("status", "--format", "{name}: {text} [{level}]").out.strip()
        for form, bar in bars.items():
            line = bar.until(" 9 [warning]")
            equal(plain_text(form, line).replace("\u200b", ""), wanted, form)
        for form, bar in bars.items():
            equal(bar.end(), 0, form)
            equal(bar.errors, [], form)


@test("a bar is started before the daemon, and shows a server that is added, removed, selected and restored")
def before_the_daemon():
    with Daemon(start=False) as daemon, daemon.follow("watch", "--output", "waybar") as selected, \
            daemon.follow("watch", "db", "--output", "waybar") as db:
        contains(json.loads(selected.next())["tooltip"], "cannot reach the daemon: nothing listens at")
        equal(json.loads(db.next())["class"], "disconnected")
        daemon.start()
        equal(json.loads(selected.next())["alt"], "none")
        equal(json.loads(db.next())["alt"], "missing")
        daemon.done("post", "db", "a<b & c", "--level", "critical")
        line = json.loads(db.next())
        equal((line["text"], line["class"], line["percentage"]), ("db: a&lt;b &amp; c [critical]", "critical", 0))
        contains(line["tooltip"], "db: a&lt;b &amp; c\n  Level:        critical")
        daemon.done("select", "db")
        equal(json.loads(selected.next())["text"], line["text"])
        daemon.done("forget", "db")
        equal(json.loads(db.until("removed"))["class"], "missing")


@test("a bar keeps its line over a short restart, and names the server that is missing after a long one")
def short_restart():
    with Daemon() as daemon, daemon.follow("watch", "db", "--output", "plain") as bar:
        equal(bar.next(), "db: no such server")
        daemon.done("post", "db", "Signed In")
        equal(bar.next(), "db: Signed In")
        began = time.monotonic()
        daemon.stop()
        daemon.start()
        line = bar.next()
        # On a machine that needs longer, it is no short restart.
        if time.monotonic() - began < 0.8:
            equal(line, "db: Signed In (before restart)")
        daemon.stop()
        equal(bar.until("away"), "db: statusd is away")


@test("after a sleep, in which the daemon continued and restarted, a bar shows the same as status")
def sleeping():
    with Daemon() as daemon, daemon.follow("watch", "--output", "plain") as bar:
        daemon.done("post", "db", "before")
        daemon.done("select", "db")
        bar.until("db: before")
        bar.process.send_signal(signal.SIGSTOP)
        for number in range(50):
            daemon.done("post", "db", f"unseen {number}")
        daemon.stop()
        daemon.start()
        daemon.done("post", "web", "after", "--level", "warning")
        daemon.done("select", "web")
        bar.process.send_signal(signal.SIGCONT)
        bar.until("web: after [warning]")


@test("a bar that may not connect says why")
def bar_without_permission():
    need_root()
    with Daemon() as daemon:
        binaries = readable_binaries(daemon.folder)
        daemon.folder.joinpath("run").chmod(0o700)
        with Follower(f"{binaries}/statusctl", "watch", "--output", "plain", user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
                      env=environment(STATUSD_ADDRESS=f"unix:{daemon.socket}")) as bar:
            contains(bar.next(), "statusd: cannot connect to ", "Permission denied")


@test("a bar for a server that does not exist yet costs the daemon nothing until it comes")
def waits_quietly():
    def switches():
        return status_of(daemon, "voluntary_ctxt_switches")

    def is_quiet():
        before = switches()
        time.sleep(2)  # a request each second would wake the daemon within this time
        return switches() == before

    with Daemon() as daemon, daemon.follow("watch", "db", "--output", "plain") as bar:
        equal(bar.next(), "db: no such server")
        eventually(is_quiet, "no wake-up in two seconds")
        daemon.done("post", "db", "Signed In")
        equal(bar.next(), "db: Signed In")


@test("--format replaces the text of a bar; its fields are escaped, and its own text is not")
def formats():
    with Daemon() as daemon:
        daemon.done("post", "db", "a<b")
        with daemon.follow("watch", "db", "--output", "waybar", "--format", "<b>{name}</b> {text}") as bar:
            equal(json.loads(bar.next())["text"], "<b>db</b> a&lt;b")


@test("options that make no sense for a bar are rejected")
def refused():
    for options in (("--all",), ("--json",), ("--no-reconnect",)):
        result = run(STATUSCTL, "watch", "--output", "plain", *options)
        equal(result.status, 64)
        contains(result.err + result.out, "give --output or ")
    contains(run(STATUSCTL, "watch", "--output", "dwm").err, "must be waybar, i3blocks, polybar, tmux or plain")


# MARK: The real programs


@test("i3blocks shows the example, and continues after a restart of the daemon")
def i3blocks():
    need("i3blocks")
    with Daemon() as daemon:
        daemon.done("post", "db", "a<b & c", "--level", "critical")
        daemon.done("select", "db")
        with Follower("i3blocks", "-c", EXAMPLES / "i3blocks.conf", env=surroundings(daemon)) as bar:
            contains(bar.until("a<b & c [critical]"), '"color":"#e01b24"')
            # The longest texts that JSON makes longer, which would take away the line, and quotation marks, which would end it.
            for text in ("\\" * 1024, "é" * 512, 'say "hello"'):
                daemon.done("post", "db", text, "--level", "critical")
                daemon.done("post", "db", "then", "--level", "warning")
                daemon.done("post", "db", text, "--level", "critical")
                bar.until(text[:8].replace("\\", "⧵").replace('"', "”"), ' [critical]","color"')
            daemon.stop()
            bar.until("statusd is away")
            daemon.start()
            bar.until("(before restart)")


@test("tmux shows the example in its status line, and a status cannot run a command there")
def tmux():
    with Daemon() as daemon:
        mark = daemon.folder / "mark"
        text = f"#(touch {mark}) #[bg=red] #{{pane_id}} 50 %H"
        daemon.done("post", "db", text, "--level", "warning")
        daemon.done("select", "db")
        variables = {name: value for name, value in surroundings(daemon).items() if name in ("PATH", "STATUSD_ADDRESS")}
        example = (EXAMPLES / "tmux.conf").read_text(encoding="utf-8")
        daemon.folder.joinpath("tmux.conf").write_text(example.replace("--output tmux)", "--output tmux)[load] x").replace("80", "100"), encoding="utf-8")
        with Screen("tmux", "-S", daemon.folder / "inner", "-f", daemon.folder / "tmux.conf", "new-session", "sleep 60", width=120,
                    **variables) as shown:
            def status_line():
                return shown.lines()[-1].replace("\u200b", "")
            eventually(lambda: f"db: {text} [warning][load] x" in status_line())
            daemon.done("post", "db", "Signed In")
            shown.shows("db: Signed In")
            for text in ("end#", "end##", "##(x) ###[x] ####"):
                daemon.done("post", "db", text)
                # What follows in the status line stays, too.
                eventually(lambda: f"db: {text}[load] x" in status_line(), f"{text} in the status line")
            assert not mark.exists(), "tmux ran a command from a status"
            run("tmux", "-S", daemon.folder / "inner", "kill-server")


@test("polybar shows the example on a real X server")
def polybar():
    need("polybar", "Xvfb")
    with Daemon() as daemon:
        daemon.done("post", "db", "%{F#f00}a<b & c", "--level", "critical")
        daemon.done("select", "db")
        reading, writing = os.pipe()
        with subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", "800x60x24"], pass_fds=[writing],
                              stderr=subprocess.DEVNULL) as server:
            os.close(writing)
            with open(reading, encoding="ascii") as numbers:
                display = ":" + numbers.readline().strip()
            try:
                with Follower("polybar", "--stdout", "-c", EXAMPLES / "polybar.ini", "example",
                              env=surroundings(daemon, DISPLAY=display, HOME=daemon.folder)) as bar:
                    bar.until("a<b & c [critical]")
                    daemon.done("post", "db", "Signed In")
                    bar.until("Signed In")
            finally:
                server.terminate()


@test("Waybar shows the example under a headless compositor, and draws each change")
def waybar():
    need("waybar", "sway", "grim")
    need_root()
    with Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
        readable_binaries(folder)
        shutil.copy(EXAMPLES / "waybar.jsonc", folder)
        pathlib.Path(folder, "sway.conf").write_text("output HEADLESS-1 resolution 600x40\n", encoding="utf-8")
        os.chown(folder, NOBODY, NOBODY)
        # sway refuses to run as root.
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": folder, "stdin": subprocess.DEVNULL}
        variables = surroundings(daemon, HOME=folder, XDG_RUNTIME_DIR=folder, WLR_BACKENDS="headless", WLR_RENDERER="pixman",
                                 WLR_LIBINPUT_NO_DEVICES="1")
        variables["PATH"] = f"{folder}:{os.environ['PATH']}"
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        with contextlib.ExitStack() as stack:
            def start(name, *command):
                log = stack.enter_context(open(f"{folder}/{name}.log", "wb"))
                process = stack.enter_context(subprocess.Popen(command, env=variables, stdout=log, stderr=log, **options))
                stack.callback(process.kill)
                return process

            start("sway", "sway", "-c", f"{folder}/sway.conf")
            display = eventually(lambda: [path.name for path in pathlib.Path(folder).glob("wayland-?")], "the compositor")
            variables["WAYLAND_DISPLAY"] = display[0]
            bar = start("waybar", "waybar", "-c", f"{folder}/waybar.jsonc", "-l", "debug")

            def picture():
                shot = subprocess.run(["grim", "-t", "ppm", "-"], env=variables, capture_output=True, timeout=20, check=False, **options)
                return shot.stdout

            def settled():
                first = picture()
                time.sleep(0.1)
                return first and first == picture() and first

            empty = picture()
            first = eventually(lambda: (shot := settled()) != empty and shot, "the bar")
            for text in ("a<b & c", "Signed Out"):
                daemon.done("post", "db", text, "--level", "critical")
                first = eventually(lambda: (shot := settled()) != first and shot, f"the bar with {text}")
            equal(bar.poll(), None, "Waybar has ended")
            log = pathlib.Path(folder, "waybar.log").read_text(encoding="utf-8", errors="replace")
            assert "[error]" not in log and "markup" not in log and "stopped unexpectedly" not in log, log


@test("the prompt shows a server that is not ok, a daemon that is away or does not answer, and nothing otherwise")
def prompt():
    with Daemon() as daemon:
        def shown():
            return run("bash", "--norc", "-c", f"PS1='[$?]$ '; . '{EXAMPLES}/prompt.bash'; (exit 42); echo \"${{PS1@P}}\"", env=surroundings(daemon)).out
        equal(shown(), "[42]$ \n")
        daemon.done("post", "db", "Signed Out", "--level", "critical")
        daemon.done("select", "db")
        equal(shown(), "[db: critical] [42]$ \n")
        daemon.done("post", "db", "Signed In")
        equal(shown(), "[42]$ \n")
        daemon.process.send_signal(signal.SIGSTOP)
        equal(shown(), "[statusd is away] [42]$ \n")
        daemon.process.send_signal(signal.SIGCONT)
        daemon.stop()
        equal(shown(), "[statusd is away] [42]$ \n")
        missing = run("/bin/bash", "--norc", "-c", f"PS1='$ '; . '{EXAMPLES}/prompt.bash'; PATH=/nonexistent; echo \"${{PS1@P}}\"")
        equal(missing.out, "$ \n", "without statusctl")


@test("each example for a bar runs a command that exists")
def examples():
    for name in ("waybar.jsonc", "i3blocks.conf", "polybar.ini", "tmux.conf"):
        command = re.search(r"statusctl watch --output (\w+)", (EXAMPLES / name).read_text(encoding="utf-8"))
        assert command and command[1] in FORMATS, name
