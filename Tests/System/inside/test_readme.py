# SPDX-License-Identifier: Apache-2.0
"""The transcripts in README.md: its commands, run in a shell with the package installed, print the output in it."""

import pathlib
import re
import subprocess
import time

from harness.daemon import Follower, environment, run
from harness.expect import Skip, equal
from harness.runner import test

from .test_package import dpkg, without_installation
from .unit import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")
MARK = "the-end-of-a-command"


def normal(text):
    """A transcript with letters in place of the parts that differ each time, and with single blanks."""
    for pattern, letter in ((r"\d{4}-\d\d-\d\d", "D"), (r"\d\d:\d\d:\d\d", "T"), (r"[\d.]+ ms", "N ms"), (r"took \d+\w+", "took N"), (r"(\d+\w+ )*\d+\w+ ago", "A ago"),
                            (r"\d+% of [\d.]+ [kMGT]?B used, [\d.]+ [kMGT]?B free", "SPACE")):
        text = re.sub(pattern, letter, text)
    return [re.sub(r" +", " ", line).rstrip() for line in text.strip().split("\n")]


class Shell:
    """An administrator's shell, whose commands are run one after another."""

    def __init__(self):
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=environment(LC_ALL="C.UTF-8"), start_new_session=True)
        # Without job control: an interactive shell would print the end of a job at any time.
        self.run('sudo() { "$@"; }; status=0')

    def run(self, command):
        """Runs a command; returns its output."""
        self.process.stdin.write(f"(exit $status); {command}\nstatus=$?; echo {MARK}\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()).rstrip("\n") != MARK:
            assert line, f"the shell ended in {command}: {lines}"
            lines.append(line)
        return "".join(lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


def transcripts():
    """The blocks with commands: for each the commands and what README.md says that they print."""
    blocks = re.findall(r"^```\n(\$ .*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [[(step.split("\n", 1) + [""])[:2] for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]] for block in blocks]


@test("README.md: each command of its first check prints what it says there, with the package installed", limit=120, once=True)
def first_check():
    if run("sh", "-c", "command -v python3").status:
        raise Skip("there is no python3")
    text = re.search(r"^```yaml\n(select: web\n.*?)^```", README, flags=re.MULTILINE | re.DOTALL)[1]
    *blocks, [(watch, shown)] = transcripts()
    equal(watch, "statusctl watch")
    with without_installation() as package, Shell() as shell:
        dpkg("-i", package)
        file = pathlib.Path("/etc/statusd/conf.d/first.yaml")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        follower = None
        for command, wanted in (step for block in blocks for step in block):
            printed = shell.run(command)
            # Servers need some time to start, and checks have an interval.
            end = time.monotonic() + 25
            while normal(printed) != normal(wanted) and time.monotonic() < end and command.startswith(("statusctl", "systemctl show")):
                time.sleep(0.2)
                printed = shell.run(command)
            equal(normal(printed), normal(wanted), command)
            if command == "statusctl list":
                # The README's other terminal.
                follower = Follower("/usr/bin/statusctl", "watch", env=environment(LC_ALL="C.UTF-8"))
        with follower:
            lines = [follower.next() for _ in shown.strip().split("\n")]
            equal(normal("\n".join(lines)), normal(shown), watch)
