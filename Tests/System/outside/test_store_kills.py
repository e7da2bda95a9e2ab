# SPDX-License-Identifier: Apache-2.0
"""The state that a daemon leaves if it is killed before, in or after a system call on its state directory."""

import contextlib
import shutil
import signal
import time

from harness.expect import equal
from harness.runner import test

from .lives import CONFIGURATION, Died, Lives

MOMENTS = ("before", "half", "after")
LONG = " " + "x" * 900
UNPRUNED = CONFIGURATION.replace("changes: 50", "changes: 100000")


def each_moment(first, last):
    """The numbers of calls, each with two points at which a life ends: only a write can be half done."""
    for number in range(first, last + 1):
        yield number, "before"
        yield number, MOMENTS[1 + number % 2]


def clean_stop(lives, when, number, **calls):
    """A life that is killed while it stops."""
    assert lives.start(), lives.log()
    with contextlib.suppress(Died):
        lives.check_start()
        lives.work(saving=False)
        lives.store.kill(when, number, **calls)
    lives.end(signal.SIGTERM)
    lives.store.work()


@test("a daemon that is killed while it creates its state starts with the rest of it")
def creating():
    with Lives() as lives:
        for number in range(1, 1000):
            shutil.rmtree(lives.daemon.folder / "state")
            (lives.daemon.folder / "state").mkdir()
            lives.store.kill(MOMENTS[number % 3], number)
            has_created = lives.start()
            lives.end()
            # The next life continues with the rest, and is killed a little later.
            lives.store.kill(MOMENTS[number % 2], number + 1)
            lives.start()
            lives.end()
            lives.check_end()
            if has_created:
                break
        assert lives.was_killed_at("write statusd.sqlite", "unlink statusd.sqlite-journal", "write statusd.sqlite-shm",
                                   "write statusd.sqlite-wal"), lives.killed_at


@test("a daemon that is killed while it starts, saves or removes old history continues with the saved state")
def saving():
    with Lives() as lives:
        for number, when in each_moment(1, 50):
            lives.store.kill(when, number)
            lives.live(1)
        for index, number in enumerate(range(51, 141, 2)):
            lives.store.kill(MOMENTS[index % 3], number)
            lives.live(1)
        equal(sum(call is None for call in lives.killed_at) < 10, True, "lives that ended at the planned call")
        lives.check_end()
        assert 20 < lives.history_length() < 200, "the history was not pruned"
        assert lives.was_killed_at("write statusd.lock", "write statusd.sqlite-journal", "write statusd.sqlite-wal"), lives.killed_at


@test("a daemon that is killed while it merges its log into the file continues with the saved state")
def merging():
    with Lives(UNPRUNED) as lives:
        # Lives that are killed leave the log, so it grows until it is merged.
        for when, number, call, file in (
                *((when, number, "write", "statusd.sqlite") for number in (1, 2, 3, 5, 8, 13, 21) for when in MOMENTS),
                ("before", 1, "truncate", "statusd.sqlite"), ("after", 1, "truncate", "statusd.sqlite"),
                *((when, 1, "sync", f"statusd.sqlite{end}") for end in ("", "-wal") for when in ("before", "after"))):
            lives.store.kill(when, number, call, file)
            lives.live(1.5, lambda: lives.work(LONG))
        lives.check_end()
        assert lives.was_killed_at("write statusd.sqlite", "truncate statusd.sqlite", "sync statusd.sqlite",
                                   "sync statusd.sqlite-wal"), lives.killed_at


@test("a daemon that is killed while it stops continues with the saved state")
def stopping():
    with Lives() as lives:
        for number, when in each_moment(1, 16):
            clean_stop(lives, when, number)
        # After the last batch, the log is merged into the file, and removed.
        for when in MOMENTS:
            for number in (1, 2, 4, 7):
                clean_stop(lives, when, number, calls="write", file="statusd.sqlite")
            for call, file in (("truncate", ""), ("sync", "-wal"), ("sync", ""), ("unlink", "-shm"), ("unlink", "-wal")):
                clean_stop(lives, when, 1, calls=call, file=f"statusd.sqlite{file}")
        lives.check_end()
        assert lives.was_killed_at("write statusd.sqlite", "truncate statusd.sqlite", "unlink statusd.sqlite-wal",
                                   "unlink statusd.sqlite-shm"), lives.killed_at


@test("a killed daemon has all changes that were answered two seconds before, without a request to save earlier")
def long_lives():
    with Lives() as lives:
        lives.store.work()

        def work():
            lives.work(saving=False)
            time.sleep(0.1)

        for seconds in (2.3, 2.9, 3.7):
            lives.live(seconds, work)
            assert lives.demanded() > 1, "nothing demanded"
        lives.check_end()


@test("these tests notice a write that the disk has lost")
def lost_write():
    with Lives() as lives:
        lives.store.work()
        lives.live(0.2)
        for number in range(1, 4):
            assert lives.start(), lives.log()
            with contextlib.suppress(Died):
                lives.check_start()
                lives.work()
                lives.store.drop(2 * number, file="statusd.sqlite-wal")
                lives.work()
            lives.end()
            lives.store.work()
            assert lives.start(), lives.log()
            try:
                lives.check_start()
            except AssertionError as error:
                assert "older" in str(error), error
                return
            lives.end()
        raise AssertionError("a lost write was not noticed")
