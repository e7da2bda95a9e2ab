# SPDX-License-Identifier: Apache-2.0
"""Completions in the real shells, each in a real terminal (tmux), and how long statusctl takes for them."""

import os
import pathlib
import shutil
import time

from harness.daemon import BINARIES, STATUSCTL, Daemon, run
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test
from harness.tmux import Screen

SHELLS = {
    "bash": ("bash", "--norc", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}


def shell(daemon, name, has_package):
    """An interactive shell with the completions that are installed for it; for bash, with or without its package."""
    if not shutil.which(name):
        raise Skip(f"there is no {name}; packaging/setup --test installs it")
    script = pathlib.Path(daemon.folder, f"completion.{name}")
    script.write_text(run(STATUSCTL, "--generate-completion-script", name).out, encoding="utf-8")
    shown = Screen(*SHELLS[name], width=100, height=24, STATUSD_ADDRESS=f"unix:{daemon.socket}", HOME=daemon.folder, PS1="ready> ",
                   PATH=f"{BINARIES}:{os.environ['PATH']}", BASH_SILENCE_DEPRECATION_WARNING="1")
    if name == "bash":
        if has_package:
            shown.type(". /usr/share/bash-completion/bash_completion", "Enter")
        shown.type(f". {script}", "Enter")
    elif name == "zsh":
        shown.type("PS1='ready> '; autoload -Uz compinit; compinit -u", "Enter")
        shown.type(f". {script}", "Enter")
    else:
        shown.type("function fish_prompt; echo 'ready> '; end", "Enter")
        shown.type(f"source {script}", "Enter")
    shown.type("clear", "Enter")
    eventually(lambda: [line for line in shown.lines() if line] == ["ready>"], f"the prompt of {name}")
    return shown


def last_command(shown):
    """The newest command line."""
    return [line for line in shown.lines() if line.startswith("ready>")][-1]


def completed(name, has_package=True):
    """Types the beginnings of words, and reads how the shell completes them."""
    with Daemon("servers:\n  database: { push: true }\n  web@front: { push: true }\n  'web:back': { push: true }\n"
                "  'app:db@main:1': { push: true }\n") as daemon, shell(daemon, name, has_package) as shown:
        for typed, wanted in (("statusctl hist", "statusctl history"), ("statusctl status data", "statusctl status database"),
                              ("statusctl post database x --lev", "statusctl post database x --level"),
                              ("statusctl post database x --level crit", "statusctl post database x --level critical"),
                              ("statusctl watch web@", "statusctl watch web@front"),
                              ("statusctl status web:", "statusctl status web:back"),
                              ("statusctl status web:ba", "statusctl status web:back"),
                              ("statusctl status ap", "statusctl status app:db@main:1"),
                              ("statusctl status app:db@ma", "statusctl status app:db@main:1"),
                              ("statusctl status app:db@main:", "statusctl status app:db@main:1"),
                              ("statusctl post web:back x  --level crit", "statusctl post web:back x  --level critical"),
                              ("statusctl list --source not", "statusctl list --source notify"),
                              ("statusctl list --level=crit", "statusctl list --level=critical"),
                              ("statusctl watch --output way", "statusctl watch --output waybar"),
                              ("statusctl verify /etc/passw", "statusctl verify /etc/passwd")):
            shown.type(typed, "Tab")
            eventually(lambda: wanted in last_command(shown).replace("\\", ""), f"{name}: {wanted}", patience=8)
            shown.type("C-u" if name != "fish" else "C-c")
            eventually(lambda: last_command(shown).rstrip() == "ready>", f"{name}: an empty line after {wanted}")
        # Several candidates are listed.
        shown.type("statusctl status ", "Tab", "Tab")
        shown.shows("database", "web@front")

        def emptied():
            shown.type("C-c")
            time.sleep(0.1)
            return last_command(shown).rstrip() == "ready>"
        eventually(emptied, f"{name}: an empty line after the candidates")
        # Without a daemon there are no names, and nothing is written.
        daemon.stop()
        shown.type("clear", "Enter")
        eventually(lambda: [line for line in shown.lines() if line] == ["ready>"], f"{name}: a clear screen")
        shown.type("statusctl status data", "Tab")
        time.sleep(0.3)
        lines = [line for line in shown.lines() if line]
        equal([line.rstrip() for line in lines], ["ready> statusctl status data"])


@test("bash completes commands, options, levels, kinds and the daemon's servers; silent without a daemon")
def bash():
    completed("bash")


@test("bash does so without the package bash-completion, too")
def bash_alone():
    completed("bash", has_package=False)


@test("bash completes a name in quotes or with backslashes")
def bash_quotes():
    with Daemon("servers:\n  'web:back@host': { push: true }\n") as daemon, shell(daemon, "bash", False) as shown:
        for typed, wanted in (('"web:b', '"web:back@host"'), ("'web:back@", "'web:back@host'"), ("web\\:b", "web:back@host"),
                              ("web:back\\@h", "web:back@host"), ('--format="{text}" "web:b', '--format="{text}" "web:back@host"')):
            shown.send(f"statusctl status {typed}")
            shown.type("Tab")
            eventually(lambda: last_command(shown).rstrip() == f"ready> statusctl status {wanted}", f"{typed} becomes {wanted}")
            shown.type("C-u")


@test("in bash, a word is completed up to the cursor")
def bash_cursor():
    with Daemon("servers:\n  'web:back': { push: true }\n  'web:front': { push: true }\n") as daemon, shell(daemon, "bash", False) as shown:
        shown.type("statusctl status web:b x", "Left", "Left", "Tab")
        eventually(lambda: last_command(shown).rstrip() == "ready> statusctl status web:back x", "the name before the cursor")


@test("zsh completes commands, options, levels, kinds and the daemon's servers; silent without a daemon")
def zsh():
    completed("zsh")


@test("fish completes commands, options, levels, kinds and the daemon's servers; silent without a daemon")
def fish():
    completed("fish")


@test("a completion requests only the data that it needs, and is silent without an answer")
def candidates():
    with Daemon() as daemon:
        for number in range(200):
            daemon.done("post", f"srv{number:03}", "Signed In")
        found = daemon.ctl("--complete", "--", "status", "srv1")
        equal((found.status, found.err, len(found.out.splitlines())), (0, "", 100))
        times = []
        for _ in range(20):
            began = time.monotonic()
            daemon.ctl("--complete", "--", "status", "srv1")
            times.append(time.monotonic() - began)
        # No limit decides the test; the time is printed for readers of the log.
        print(f"     a completion with 200 servers took {min(times) * 1000:.1f} ms to {max(times) * 1000:.1f} ms")
        contains(daemon.ctl("--complete", "--", "post", "srv1", "x", "--level", "").out, "warning\t", "critical\t")
        contains(daemon.ctl("--complete", "--", "list", "--source", "").out, "unit\t", "http\t")
        # Each server has its level next to it, and a command offers only servers that it can use.
        daemon.done("post", "bad", "Full", "--level", "critical")
        equal(daemon.ctl("--complete", "--", "status", "ba").out, "bad\tcritical\n")
        equal(daemon.ctl("--complete", "--", "forget", "ba").out, "bad\tcritical\n")
        equal(daemon.ctl("--complete", "--", "refresh", "ba").out, "")
        equal(daemon.ctl("--complete", "--", "verify", "").out, "files\n")
        equal(daemon.ctl("--complete", "--", "list", "--format", "").out, "")
        daemon.stop()
        silent = daemon.ctl("--complete", "--", "status", "")
        equal((silent.status, silent.out, silent.err), (0, "", ""))
