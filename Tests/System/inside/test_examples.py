# SPDX-License-Identifier: Apache-2.0
"""The example that follows a unit."""

from harness.daemon import Follower, environment
from harness.expect import Skip, equal
from harness.runner import test

from .unit import PROJECT, done, systemctl

UNIT_STATE = PROJECT / ".build" / "examples" / "debug" / "UnitState"


@test("a program that follows a unit shows when it appears, runs and disappears, and ends when it is interrupted")
def unit_state():
    if not UNIT_STATE.exists():
        raise Skip("Tests/Examples has not been built; run packaging/test release")
    with Follower(UNIT_STATE, "example.service", env=environment()) as program:
        equal(program.next(), "not-found, inactive (dead)")
        done("systemd-run", "--quiet", "--unit=example", "sleep", "infinity")
        program.until("loaded, active (running)")
        systemctl("stop", "example.service")
        program.until("inactive (dead)")
        equal(program.end(), 0)
