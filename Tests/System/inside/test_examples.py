# SPDX-License-Identifier: Apache-2.0
"""The examples that need a real systemd: one follows a unit, one writes to the journal."""

import json
import signal

from harness.daemon import Follower, environment
from harness.expect import Skip, equal
from harness.runner import test

from .unit import PROJECT, done, systemctl

EXAMPLES = PROJECT / ".build" / "examples" / "debug"


def built(name):
    """An example's program; skips the test without it."""
    if not (EXAMPLES / name).exists():
        raise Skip("Tests/Examples has not been built; run packaging/test release")
    return EXAMPLES / name


@test("a program that follows a unit shows when it appears, runs and disappears, and ends when it is interrupted")
def unit_state():
    with Follower(built("UnitState"), "example.service", env=environment()) as program:
        equal(program.next(), "not-found, inactive (dead)")
        done("systemd-run", "--quiet", "--unit=example", "sleep", "infinity")
        program.until("loaded, active (running)")
        systemctl("stop", "example.service")
        program.until("inactive (dead)")
        equal(program.end(), -signal.SIGINT)


@test("the last message before a program's end is in the journal with its fields, every time")
def last_words():
    loop = f"for i in $(seq 20); do {built('LastWords')}; done"
    done("systemd-run", "--quiet", "--wait", "--unit=last-words", "sh", "-c", loop)
    done("journalctl", "--sync")
    lines = done("journalctl", "--no-pager", "-o", "json", "SYSLOG_IDENTIFIER=example").splitlines()
    fields = [[json.loads(line).get(name) for name in ("MESSAGE", "PRIORITY", "EXAMPLE_REASON")] for line in lines]
    equal(fields, [["last words", "2", "none\nat all"]] * 20)
